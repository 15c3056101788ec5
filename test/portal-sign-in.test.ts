import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { hash, randomBytes } from 'node:crypto';
import { LicensesService } from '../src/licenses/licenses.service.js';
import { PurchasesService } from '../src/purchases/purchases.service.js';
import { ACT, sell, until } from './erasure-harness.js';
import { Service } from './harness.js';
import { Browser, COMMON_REFUSALS, commonRefusals, unseen, withoutIds } from './portal-harness.js';

const NOON = '2026-11-20T13:00:00Z';
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

let service: Service;
beforeAll(async () => void (service = await Service.start()));
beforeEach(() => service.clock.set(NOON));
afterAll(() => service.close());

const browser = () => new Browser(service);
const licenses = async (from: Browser) => (await from.call('GET', '/licenses')).json;
const idsSeen = async (from: Browser) =>
  ((await licenses(from)).licenses as { id: string }[]).map(({ id }) => id);
const isSignedIn = async (from: Browser) => (await from.call('GET', '/licenses')).status === 200;

test('a mailed code shows every license of the address, the newest first', async () => {
  const first = await service.issue({ email: 'two@example.com' });
  const second = await service.issue({ email: 'two@example.com' });
  await service.issue({ email: 'other@example.com' });
  const holder = await browser().byCode('two@example.com');
  expect(await licenses(holder)).toMatchObject({ signed_in_by: 'code', email: 'two@example.com' });
  expect(await idsSeen(holder)).toEqual([second.license_id, first.license_id]);
});

test('a license key shows its one license, and is read as kindly as by activate', async () => {
  const license = await service.issue({ email: 'kind@example.com' });
  await service.issue({ email: 'kind@example.com' });
  const typed = { email: ' Kind@Example.com', license_key: ` ${license.license_key.toLowerCase()} ` };
  const holder = await browser().byKey(typed);
  expect(await licenses(holder)).toMatchObject({ signed_in_by: 'key', email: 'kind@example.com' });
  expect(await idsSeen(holder)).toEqual([license.license_id]);
});

test('404 for an unknown key, a wrong e-mail, a typing error and an erased license: the same bytes', async () => {
  const known = await service.issue({ email: 'known@example.com' });
  const erased = await service.issue({ email: 'erased@example.com' });
  await service.sql('update license set email = null where id = $1', [erased.license_id]);
  const key = known.license_key;
  const typo = key.slice(0, -1) + (key.endsWith('7') ? '8' : '7');
  const answers = await Promise.all(
    [
      { email: known.email, license_key: 'MOOR_E6S7-Z8KJ-TB3R-QKX6' },
      { email: known.email, license_key: typo },
      { email: 'somebody@example.com', license_key: key },
      { email: erased.email, license_key: erased.license_key },
    ].map((body) => browser().call('POST', '/session', body)),
  );
  expect(answers[0]!.json).toMatchObject({ status: 404, code: 'license_not_found' });
  expect(answers[0]!.cookies).toEqual([]);
  const [first, ...others] = answers.map(withoutIds);
  for (const other of others) expect(other).toEqual(first);
});

describe('a license of any state can be signed in to, and says its state', () => {
  test.each(['active', 'suspended', 'revoked'] as const)('%s', async (staff_status) => {
    const email = `${staff_status}@example.com`;
    const license = await service.issue({ email });
    await service.setLicense(license.license_id, { staff_status });
    for (const holder of [await browser().byKey(license), await browser().byCode(email)])
      expect((await licenses(holder)).licenses).toMatchObject([{ status: staff_status }]);
  });

  test('refunded', async () => {
    const email = 'refunded@example.com';
    await sell(service, email, 'refunded');
    await service.app.get(PurchasesService).record({ transaction_id: 'refunded', status: 'refunded' });
    const holder = await browser().byCode(email);
    expect((await licenses(holder)).licenses).toMatchObject([{ status: 'refunded' }]);
  });

  test('expired', async () => {
    const expires_at = new Date('2026-01-01T00:00:00Z');
    const license = await service.issue({ email: 'expired@example.com', expires_at, on_expiry: 'stop' });
    const holder = await browser().byKey(license);
    expect((await licenses(holder)).licenses).toMatchObject([
      { status: 'active', expires_at: '2026-01-01T00:00:00Z', on_expiry: 'stop' },
    ]);
  });
});

test.each([
  ['no e-mail', { license_key: 'MOOR_E6S7-Z8KJ-TB3R-QKX6' }, ['/email']],
  ['an e-mail that is none', { email: 'ada', code: '12345678' }, ['/email']],
  ['neither key nor code', { email: 'ada@example.com' }, ['/license_key', '/code']],
  ['both', { email: 'a@example.com', license_key: 'x', code: '12345678' }, ['/license_key', '/code']],
  ['a key of another shape', { email: 'a@example.com', license_key: 'MOOR' }, ['/license_key']],
  ['a key that is no text', { email: 'a@example.com', license_key: null }, ['/license_key']],
  ['7 digits', { email: 'a@example.com', code: '1234567' }, ['/code']],
  ['9 digits', { email: 'a@example.com', code: '123456789' }, ['/code']],
  ['digits of another script', { email: 'a@example.com', code: '١٢٣٤٥٦٧٨' }, ['/code']],
  ['a number', { email: 'a@example.com', code: 12345678 }, ['/code']],
])('422 for %s', async (_what, body, pointers) => {
  const { status, json } = await browser().call('POST', '/session', body);
  expect([status, json.code]).toEqual([422, 'invalid_request']);
  expect(json.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(pointers);
});

test.each([[{}], [{ email: 'ada' }], [{ email: null }], [{ email: 'a\0@example.com' }]])(
  '422 for a code asked for with %j',
  async (body) => {
    const { status, json, cookies } = await browser().call('POST', '/session/code', body);
    expect([status, json.errors[0].pointer, cookies]).toEqual([422, '/email', []]);
  },
);

describe('the cookies', () => {
  const attributes = (line: string) =>
    line
      .split('; ')
      .slice(1)
      .filter((each) => !each.startsWith('Expires='))
      .toSorted();

  test('over http: no script reads them, no other site sends them, and only `code` outlives the browser', async () => {
    const license = await service.issue({ email: 'cookies@example.com' });
    const by = (body: unknown) => browser().call('POST', '/session', body);
    const [session] = (await by({ email: license.email, license_key: license.license_key })).cookies;
    expect(session).toMatch(/^mooring_holder=[\w-]{43};/);
    expect(attributes(session!)).toEqual(['HttpOnly', 'Path=/', 'SameSite=Strict']);
    const [code] = (await browser().call('POST', '/session/code', { email: license.email })).cookies;
    expect(code).toMatch(
      /^mooring_code=[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12};/,
    );
    expect(attributes(code!)).toEqual(['HttpOnly', 'Max-Age=600', 'Path=/', 'SameSite=Strict']);
  });

  test('over https: secure, and bound to this very host by their names', async () => {
    const origin = 'https://licenses.example.org';
    const secure = await Service.start({
      databaseUrl: service.databaseUrl,
      dataDir: service.dataDir,
      environment: { PUBLIC_URL: `${origin}/shop` },
    });
    try {
      const license = await service.issue({ email: 'secure@example.com' });
      const holder = new Browser(secure, origin);
      const lines = [
        ...(await holder.call('POST', '/session/code', { email: license.email })).cookies,
        ...(await holder.byKey(license).then(() => holder.call('DELETE', '/session'))).cookies,
      ];
      expect(lines.map((line) => line.split('=')[0])).toEqual([
        '__Host-mooring_code',
        '__Host-mooring_holder',
      ]);
      for (const line of lines) {
        expect(attributes(line)).toEqual(
          expect.arrayContaining(['HttpOnly', 'Path=/', 'SameSite=Strict', 'Secure']),
        );
        expect(line).not.toMatch(/domain/i);
      }
    } finally {
      await secure.close();
    }
  });

  test('the database holds a hash of the session alone', async () => {
    const license = await service.issue({ email: 'hashed@example.com' });
    const holder = await browser().byKey(license);
    const token = holder.jar.get('mooring_holder')!;
    const rows = await service.sql('select token_hash from session where license_id = $1', [
      license.license_id,
    ]);
    expect(rows).toEqual([{ token_hash: hash('sha256', token, 'buffer') }]);
  });
});

describe('a session', () => {
  const signedIn = async (email: string) => browser().byKey(await service.issue({ email }));

  test.each([
    ['no cookie', ''],
    ['an empty one', 'mooring_holder='],
    ['one nobody has', `mooring_holder=${randomBytes(32).toString('base64url')}`],
    ['something else', 'mooring_holder=%00%ff;x'],
    ['a code', 'mooring_holder=0198f3c2-7b1a-4c3d-9e4f-a1b2c3d4e5f6'],
  ])('is none with %s: 401 on every route', async (_what, cookie) => {
    const from = (method: string, path: string) =>
      service.call(method, `/portal/api${path}`, undefined, { cookie, origin: 'http://localhost:3000' });
    for (const [method, path] of [
      ['GET', '/licenses'],
      ['DELETE', '/session'],
      ['POST', '/licenses/x/send-key'],
      ['POST', '/activations/x/release'],
      ['GET', '/export'],
      ['POST', '/erasure'],
      ['DELETE', '/erasure'],
    ] as const) {
      const { status, json } = await from(method, path);
      expect([method, path, status, json.code]).toEqual([method, path, 401, 'sign_in_required']);
    }
  });

  test('of a person of the staff opens nothing here', async () => {
    const token = randomBytes(32).toString('base64url');
    await service.staffToken();
    await service.sql(
      `insert into session (id, token_hash, staff_id, created_at, expires_at)
       select gen_random_uuid(), $1, id, $2, $2::timestamptz + interval '1 hour' from staff limit 1`,
      [hash('sha256', token, 'buffer'), service.clock.now()],
    );
    const holder = browser();
    holder.jar.set('mooring_holder', token);
    expect(await isSignedIn(holder)).toBe(false);
    expect((await holder.call('DELETE', '/session')).json.code).toBe('sign_in_required');
  });

  test('lives on while it is used, and ends after 30 minutes without, to the instant', async () => {
    const holder = await signedIn('idle@example.com');
    service.clock.advance(30 * MINUTE_MS - 1);
    expect(await isSignedIn(holder)).toBe(true);
    service.clock.advance(30 * MINUTE_MS - 1);
    expect(await isSignedIn(holder)).toBe(true);
    service.clock.advance(30 * MINUTE_MS);
    expect(await isSignedIn(holder)).toBe(false);
  });

  test('ends after 12 hours however much it is used, to the instant', async () => {
    const holder = await signedIn('busy@example.com');
    const began = service.clock.now().getTime();
    for (let minutes = 25; minutes < 12 * 60; minutes += 25) {
      service.clock.set(new Date(began + minutes * MINUTE_MS));
      expect(await isSignedIn(holder)).toBe(true);
    }
    service.clock.set(new Date(began + 12 * HOUR_MS - 1));
    expect(await isSignedIn(holder)).toBe(true);
    service.clock.set(new Date(began + 12 * HOUR_MS));
    expect(await isSignedIn(holder)).toBe(false);
  });

  test('signed out, it is over for good, and no other one is', async () => {
    const license = await service.issue({ email: 'out@example.com' });
    const [holder, elsewhere] = [await browser().byKey(license), await browser().byKey(license)];
    const cookie = `mooring_holder=${holder.jar.get('mooring_holder')}`;
    const { status, cookies, text } = await holder.call('DELETE', '/session');
    expect([status, text, cookies.length]).toEqual([204, '', 1]);
    expect(holder.jar.size).toBe(0);
    const again = await holder.call('DELETE', '/session', undefined, { cookie });
    expect([again.status, again.json.code]).toEqual([401, 'sign_in_required']);
    expect(await isSignedIn(elsewhere)).toBe(true);
  });
});

describe('what another site asks', () => {
  const cases: [string, Record<string, string>][] = [
    ['another origin', { origin: 'https://evil.example' }],
    ['another port', { origin: 'http://localhost:3001' }],
    ['another scheme', { origin: 'https://localhost:3000' }],
    ['a hidden origin', { origin: 'null' }],
    ['an origin like ours', { origin: 'http://localhost:3000.evil.example' }],
    ['no origin, from another site', { origin: '', 'sec-fetch-site': 'cross-site' }],
    ['no origin, from a neighbour', { origin: '', 'sec-fetch-site': 'same-site' }],
    ['no origin, and nothing but the cookie', { origin: '' }],
  ];

  test.each(cases)('is refused before anything else: %s', async (_what, headers) => {
    const license = await service.issue({ email: 'origin@example.com' });
    const holder = await browser().byKey(license);
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
    const anonymous = await browser().call('POST', '/erasure', undefined, {
      ...headers,
      cookie: 'mooring_holder=x',
    });
    expect(anonymous.json.code).toBe('cross_origin');
    expect(await isSignedIn(holder)).toBe(true);
  });

  test('its reads are not: a browser shows it no answer, and a link from elsewhere works', async () => {
    const holder = await browser().byKey(await service.issue({ email: 'link@example.com' }));
    const { status } = await holder.call('GET', '/licenses', undefined, { 'sec-fetch-site': 'cross-site' });
    expect(status).toBe(200);
  });

  test('a browser that sends no origin is believed where it says that it is our page', async () => {
    const license = await service.issue({ email: 'fetch@example.com' });
    const { status } = await browser().call(
      'POST',
      '/session',
      { email: license.email, license_key: license.license_key },
      { origin: '', 'sec-fetch-site': 'same-origin' },
    );
    expect(status).toBe(204);
  });
});

describe('a session that a key began is over', () => {
  const began = async (email: string) => {
    const license = await service.issue({ email });
    return { ...license, byKey: await browser().byKey(license), byCode: await browser().byCode(email) };
  };

  test('when the key is replaced; one that a code began goes on', async () => {
    const { license_id, byKey, byCode } = await began('rekeyed@example.com');
    await service.app.get(LicensesService).rekey(license_id, ACT);
    expect([await isSignedIn(byKey), await idsSeen(byCode)]).toEqual([false, [license_id]]);
  });

  test('when the license gets another address; one that a code began does not see it any more', async () => {
    const { license_id, byKey, byCode } = await began('moved@example.com');
    await service.setLicense(license_id, { email: 'elsewhere@example.com' });
    expect([await isSignedIn(byKey), await idsSeen(byCode)]).toEqual([false, []]);
  });

  test('and not for any other change, nor with another license', async () => {
    const { license_id, byKey } = await began('kept@example.com');
    const other = await began('another@example.com');
    await service.setLicense(license_id, { machines_allowed: 2, email: 'kept@example.com' });
    await service.app.get(LicensesService).rekey(other.license_id, ACT);
    expect(await isSignedIn(byKey)).toBe(true);
  });

  test('also where the key is typed while it is replaced', async () => {
    const license = await service.issue({ email: 'meanwhile@example.com' });
    const staff = await service.database.connect();
    await staff.query('begin');
    await staff.query('update license set key_hash = $2 where id = $1', [
      license.license_id,
      randomBytes(32),
    ]);
    const typed = browser().call('POST', '/session', {
      email: license.email,
      license_key: license.license_key,
    });
    const waits = `select 1 from pg_stat_activity
      where wait_event_type = 'Lock' and datname = current_database()`;
    const seen = { answer: false };
    void typed.then(() => (seen.answer = true));
    await until(async () => seen.answer || (await service.sql(waits)).length > 0);
    await staff.query('commit');
    staff.release();
    // A machine that stalls meanwhile is told that the database is away.
    expect([404, 503]).toContain((await typed).status);
    const sessions = await service.sql('select 1 from session where license_id = $1', [license.license_id]);
    expect(sessions).toEqual([]);
  });
});

test('whatever else keeps somebody out', async () => {
  const license = await service.issue({ email: 'common@example.com' });
  const body = { email: license.email, license_key: license.license_key };
  expect(await commonRefusals(browser(), { path: '/session', body })).toEqual(COMMON_REFUSALS);
  const code = { path: '/session/code', body: { email: license.email }, table: 'one_time_code' };
  expect(await commonRefusals(browser(), code)).toEqual(COMMON_REFUSALS);
  const holder = await browser().byKey(license);
  expect(await commonRefusals(holder, { method: 'DELETE', path: '/session' })).toEqual(COMMON_REFUSALS);
  expect(await isSignedIn(holder)).toBe(true);
});

test('every documented answer is one that was seen here, or in portal-codes.test.ts', () => {
  const tooOften = ['POST /portal/api/session 429', 'POST /portal/api/session/code 429'];
  expect(unseen(/ \/portal\/api\/session/)).toEqual(tooOften);
});
