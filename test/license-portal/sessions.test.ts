import { beforeEach, describe, expect, test } from '@jest/globals';
import { hash, randomBytes } from 'node:crypto';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { AUDIT_CONTEXT, NOW, Service, HOUR_MS, MINUTE_MS } from '../support/harness.js';
import { Browser } from './harness.js';
import { freePort } from '../support/processes/server-process.js';
import { OpenTransaction } from '../support/open-transaction.js';

const service = await Service.start();
beforeEach(() => service.clock.set(NOW));

const newBrowser = () => new Browser(service);
const isSignedIn = async (from: Browser) => {
  const { status } = await from.call('GET', '/session');
  expect([200, 204]).toContain(status);
  return status === 200;
};
const visibleLicenseIds = async (from: Browser) => {
  const { json } = await from.call('GET', '/session');
  return (json.licenses as { id: string }[]).map(({ id }) => id);
};

describe('a session', () => {
  const signInNewHolder = async (email: string) => newBrowser().signInByKey(await service.issue({ email }));

  test.each([
    ['no cookie', ''],
    ['an empty cookie', 'mooring_holder='],
    ['an unknown cookie', `mooring_holder=${randomBytes(32).toString('base64url')}`],
    ['a cookie with invalid bytes', 'mooring_holder=%00%ff;x'],
    ['the id of a sign-in code', 'mooring_holder=0198f3c2-7b1a-4c3d-9e4f-a1b2c3d4e5f6'],
  ])(
    'is required: with %s the routes for signed-in holders answer 401, and the read of the session 204',
    async (_what, cookie) => {
      const call = (method: string, path: string) =>
        service.call(method, `/portal/api${path}`, undefined, { cookie, origin: 'http://localhost:3000' });
      for (const [method, path] of [
        ['DELETE', '/session'],
        ['POST', '/licenses/x/send-key'],
        ['POST', '/activations/x/release'],
        ['GET', '/export'],
        ['POST', '/erasure'],
        ['DELETE', '/erasure'],
      ] as const) {
        const { status, json } = await call(method, path);
        expect([method, path, status, json.code]).toEqual([method, path, 401, 'sign_in_required']);
      }
      // The answer sets no cookie: a sign-in in another tab may have replaced the cookie of an ended session meanwhile.
      const read = await call('GET', '/session');
      expect([read.status, read.text, read.cookies]).toEqual([204, '', []]);
      expect(read.headers['cache-control']).toBe('no-store');
    },
  );

  test('of a staff member is not accepted by the portal', async () => {
    const token = randomBytes(32).toString('base64url');
    await service.staffToken();
    await service.sql(
      `insert into session (id, token_hash, staff_id, created_at, expires_at)
       select gen_random_uuid(), $1, id, $2, $2::timestamptz + interval '1 hour' from staff limit 1`,
      [hash('sha256', token, 'buffer'), service.clock.now()],
    );
    const holder = newBrowser();
    holder.cookies.set('mooring_holder', token);
    expect(await isSignedIn(holder)).toBe(false);
    expect((await holder.call('DELETE', '/session')).json.code).toBe('sign_in_required');
  });

  test('is extended while it is used, and ends after exactly 30 minutes without a request', async () => {
    const holder = await signInNewHolder('idle@example.com');
    service.clock.advance(30 * MINUTE_MS - 1);
    expect(await isSignedIn(holder)).toBe(true);
    service.clock.advance(30 * MINUTE_MS - 1);
    expect(await isSignedIn(holder)).toBe(true);
    service.clock.advance(30 * MINUTE_MS);
    expect(await isSignedIn(holder)).toBe(false);
  });

  test('updates its row at most once a minute', async () => {
    const license = await service.issue({ email: 'written@example.com' });
    const holder = await newBrowser().signInByKey(license);
    const beganAt = service.clock.now().getTime();
    const renewedAfterMs = async () => {
      expect(await isSignedIn(holder)).toBe(true);
      const [row] = await service.sql<{ expires_at: Date }>(
        'select expires_at from session where license_id = $1',
        [license.license_id],
      );
      return row!.expires_at.getTime() - 30 * MINUTE_MS - beganAt;
    };
    service.clock.advance(MINUTE_MS - 1);
    expect(await renewedAfterMs()).toBe(0);
    service.clock.advance(1);
    expect(await renewedAfterMs()).toBe(MINUTE_MS);
  });

  test('ends after exactly 12 hours, also if it is used', async () => {
    const holder = await signInNewHolder('busy@example.com');
    const beganAt = service.clock.now().getTime();
    for (let minutes = 25; minutes < 12 * 60; minutes += 25) {
      service.clock.set(new Date(beganAt + minutes * MINUTE_MS));
      expect(await isSignedIn(holder)).toBe(true);
    }
    service.clock.set(new Date(beganAt + 12 * HOUR_MS - 1));
    expect(await isSignedIn(holder)).toBe(true);
    service.clock.set(new Date(beganAt + 12 * HOUR_MS));
    expect(await isSignedIn(holder)).toBe(false);
  });

  test('ends when its holder signs out, and no other session ends', async () => {
    const license = await service.issue({ email: 'out@example.com' });
    const [holder, elsewhere] = [
      await newBrowser().signInByKey(license),
      await newBrowser().signInByKey(license),
    ];
    const cookie = `mooring_holder=${holder.cookies.get('mooring_holder')}`;
    const { status, cookies, text } = await holder.call('DELETE', '/session');
    expect([status, text, cookies.length]).toEqual([204, '', 1]);
    expect(holder.cookies.size).toBe(0);
    const again = await holder.call('DELETE', '/session', undefined, { cookie });
    expect([again.status, again.json.code]).toEqual([401, 'sign_in_required']);
    expect(await isSignedIn(elsewhere)).toBe(true);
  });
});

test('signing in again ends the earlier session of the browser, and no other session', async () => {
  const license = await service.issue({ email: 'anew@example.com' });
  const [holder, elsewhere] = [
    await newBrowser().signInByKey(license),
    await newBrowser().signInByKey(license),
  ];
  const cookie = `mooring_holder=${holder.cookies.get('mooring_holder')}`;
  await holder.signInByKey(license);
  expect((await newBrowser().call('GET', '/session', undefined, { cookie })).status).toBe(204);
  expect(await isSignedIn(holder)).toBe(true);
  expect(await isSignedIn(elsewhere)).toBe(true);
});

test.each(['key', 'code'] as const)(
  'a sign-in with a %s ends the earlier session of the browser in the transaction that begins the new one',
  async (kind) => {
    const license = await service.issue({ email: `by-${kind}@example.com` });
    const browser = newBrowser();
    const signIn = () =>
      kind === 'key' ? browser.signInByKey(license) : browser.signInByCode(license.email);
    await signIn();
    const sessions = () =>
      service.sql('select 1 from session where license_id = $1 or email = $2', [
        license.license_id,
        license.email,
      ]);
    const lock = await OpenTransaction.begin(service, 'select 1 from session for update');
    const again = signIn();
    await lock.untilWaiting();
    // If the service were killed now, the earlier session would be valid, and there would be no other.
    expect(await sessions()).toHaveLength(1);
    await lock.commit();
    await again;
    expect(await sessions()).toHaveLength(1);
  },
);

describe('a request that may come from another origin', () => {
  const cases: [string, Record<string, string>][] = [
    ['another origin', { origin: 'https://evil.example' }],
    ['another port', { origin: 'http://localhost:3001' }],
    ['another scheme', { origin: 'https://localhost:3000' }],
    ['a hidden origin', { origin: 'null' }],
    ['an origin that begins with the accepted one', { origin: 'http://localhost:3000.evil.example' }],
    ['no origin, from another site', { origin: '', 'sec-fetch-site': 'cross-site' }],
    ['no origin, from another origin of the same site', { origin: '', 'sec-fetch-site': 'same-site' }],
    ['no origin and no sec-fetch-site', { origin: '' }],
  ];

  test.each(cases)('is refused before any other check if it writes: %s', async (_what, headers) => {
    const license = await service.issue({ email: 'origin@example.com' });
    const holder = await newBrowser().signInByKey(license);
    for (const [method, path, body] of [
      ['DELETE', '/session', undefined],
      ['POST', '/session', { email: license.email, license_key: license.license_key }],
      ['POST', '/session/code', { email: license.email }],
      ['POST', `/licenses/${license.license_id}/send-key`, undefined],
      ['POST', '/erasure', undefined],
    ] as const) {
      const { status, json, cookies } = await holder.call(method, path, body, headers);
      expect([path, status, json.code, cookies]).toEqual([path, 403, 'cross_origin', []]);
    }
    const anonymous = await newBrowser().call('POST', '/erasure', undefined, {
      ...headers,
      cookie: 'mooring_holder=x',
    });
    expect(anonymous.json.code).toBe('cross_origin');
    expect(await isSignedIn(holder)).toBe(true);
  });

  test('is answered if it only reads, so that links from other sites work', async () => {
    const holder = await newBrowser().signInByKey(await service.issue({ email: 'link@example.com' }));
    const { status } = await holder.call('GET', '/session', undefined, { 'sec-fetch-site': 'cross-site' });
    expect(status).toBe(200);
  });
});

test('a request of the portal itself is accepted without an origin if sec-fetch-site is same-origin', async () => {
  const license = await service.issue({ email: 'fetch@example.com' });
  const { status } = await newBrowser().call(
    'POST',
    '/session',
    { email: license.email, license_key: license.license_key },
    { origin: '', 'sec-fetch-site': 'same-origin' },
  );
  expect(status).toBe(204);
});

test('without PUBLIC_URL the accepted origin is http://localhost with the port of the service', async () => {
  const port = await freePort();
  const onOwnPort = await Service.beside(service, { environment: { PORT: String(port) } });
  expect(onOwnPort.url).toBe(`http://127.0.0.1:${port}`);
  const license = await service.issue({ email: 'port@example.com' });
  await new Browser(onOwnPort, `http://localhost:${port}`).signInByKey(license);
  await expect(new Browser(onOwnPort).signInByKey(license)).rejects.toThrow('403');
  await onOwnPort.close();
});

describe('a session by key', () => {
  const beginSessions = async (email: string) => {
    const license = await service.issue({ email });
    return {
      ...license,
      byKey: await newBrowser().signInByKey(license),
      byCode: await newBrowser().beginSession(email),
    };
  };

  test('ends when the key is replaced; a session by code does not end', async () => {
    const { license_id, byKey, byCode } = await beginSessions('rekeyed@example.com');
    await service.app.get(LicensesService).rekey(license_id, AUDIT_CONTEXT);
    expect([await isSignedIn(byKey), await visibleLicenseIds(byCode)]).toEqual([false, [license_id]]);
  });

  test('ends when the license gets another address; a session by code no longer shows the license', async () => {
    const { license_id, byKey, byCode } = await beginSessions('moved@example.com');
    await service.setLicense(license_id, { email: 'elsewhere@example.com' });
    expect([await isSignedIn(byKey), await visibleLicenseIds(byCode)]).toEqual([false, []]);
  });

  test('ends neither at another change nor at a change of another license', async () => {
    const { license_id, byKey } = await beginSessions('kept@example.com');
    const other = await beginSessions('another@example.com');
    await service.setLicense(license_id, { machines_allowed: 2, email: 'kept@example.com' });
    await service.app.get(LicensesService).rekey(other.license_id, AUDIT_CONTEXT);
    expect(await isSignedIn(byKey)).toBe(true);
  });

  test('shows no data of the next holder to a request that runs while the license gets another address', async () => {
    const { license_id, byKey } = await beginSessions('read-meanwhile@example.com');
    const staff = await OpenTransaction.begin(service, 'lock table license in access exclusive mode');
    const read = byKey.call('GET', '/session');
    await staff.untilWaiting(read);
    await staff.query("update license set email = 'next-holder@example.com' where id = $1", [license_id]);
    await staff.query('delete from session where license_id = $1', [license_id]);
    await staff.commit();
    const { status, text } = await read;
    expect([200, 204]).toContain(status);
    expect(text).not.toContain('next-holder@example.com');
  });

  test('does not begin if the key is replaced while the holder signs in', async () => {
    const license = await service.issue({ email: 'meanwhile@example.com' });
    const replaceKey = 'update license set key_hash = $2 where id = $1';
    const staff = await OpenTransaction.begin(service, replaceKey, [license.license_id, randomBytes(32)]);
    const signIn = newBrowser().call('POST', '/session', {
      email: license.email,
      license_key: license.license_key,
    });
    await staff.untilWaiting(signIn);
    await staff.commit();
    // On an overloaded computer the answer may be 503.
    expect([404, 503]).toContain((await signIn).status);
    const sessions = await service.sql('select 1 from session where license_id = $1', [license.license_id]);
    expect(sessions).toEqual([]);
  });
});
