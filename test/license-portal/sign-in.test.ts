import { beforeEach, describe, expect, test } from '@jest/globals';
import { hash } from 'node:crypto';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import { sell } from '../erasure/harness.js';
import { NOW, Service } from '../support/harness.js';
import { Browser, COMMON_REFUSALS, commonRefusals, withoutIdAndDate } from './harness.js';
import { unseenResponses } from '../support/http/openapi.js';

const service = await Service.start();
beforeEach(() => service.clock.set(NOW));

const newBrowser = () => new Browser(service);
const readLicenses = async (from: Browser) => (await from.call('GET', '/session')).json;
const visibleLicenseIds = async (from: Browser) =>
  ((await readLicenses(from)).licenses as { id: string }[]).map(({ id }) => id);

test('a session by code shows all licenses of the address, newest first', async () => {
  const first = await service.issue({ email: 'two@example.com' });
  const second = await service.issue({ email: 'two@example.com' });
  await service.issue({ email: 'other@example.com' });
  const holder = await newBrowser().signInByCode('two@example.com');
  expect(await readLicenses(holder)).toMatchObject({ signed_in_by: 'code', email: 'two@example.com' });
  expect(await visibleLicenseIds(holder)).toEqual([second.license_id, first.license_id]);
});

test('a session by key shows only its license; the key may be typed in lower case and with spaces', async () => {
  const license = await service.issue({ email: 'kind@example.com' });
  await service.issue({ email: 'kind@example.com' });
  const typed = { email: ' Kind@Example.com', license_key: ` ${license.license_key.toLowerCase()} ` };
  const holder = await newBrowser().signInByKey(typed);
  expect(await readLicenses(holder)).toMatchObject({ signed_in_by: 'key', email: 'kind@example.com' });
  expect(await visibleLicenseIds(holder)).toEqual([license.license_id]);
});

test('the domain of an address may be in Unicode or in ASCII, to which browsers convert it', async () => {
  const license = await service.issue({ email: 'ida@bücher.example' });
  const typed = { ...license, email: 'ida@xn--bcher-kva.example' };
  const sessions = [
    await newBrowser().signInByKey(license),
    await newBrowser().signInByKey(typed),
    await newBrowser().signInByCode(typed.email),
  ];
  for (const holder of sessions) expect(await visibleLicenseIds(holder)).toEqual([license.license_id]);
});

test('sign-in answers with the same 404 to an unknown key, a wrong e-mail, a mistyped key and an erased license', async () => {
  const known = await service.issue({ email: 'known@example.com' });
  const erased = await service.issue({ email: 'erased@example.com' });
  await service.sql('update license set email = null where id = $1', [erased.license_id]);
  const key = known.license_key;
  const typo = key.slice(0, -1) + (key.endsWith('7') ? '8' : '7');
  const answers = await Promise.all(
    [
      { email: known.email, license_key: 'MOOR_E6S7-Z8KJ-TB3R-QKX6' },
      { email: known.email, license_key: typo },
      { email: 'someone@example.com', license_key: key },
      { email: erased.email, license_key: erased.license_key },
    ].map((body) => newBrowser().call('POST', '/session', body)),
  );
  expect(answers[0]!.json).toMatchObject({ status: 404, code: 'license_not_found' });
  expect(answers[0]!.cookies).toEqual([]);
  const [first, ...others] = answers.map(withoutIdAndDate);
  for (const other of others) expect(other).toEqual(first);
});

describe('a holder can sign in with a license of any state, and sees the state', () => {
  test.each(['active', 'suspended', 'revoked'] as const)('license is %s', async (staff_status) => {
    const email = `${staff_status}@example.com`;
    const license = await service.issue({ email });
    await service.setLicense(license.license_id, { staff_status });
    for (const holder of [await newBrowser().signInByKey(license), await newBrowser().signInByCode(email)])
      expect((await readLicenses(holder)).licenses).toMatchObject([{ status: staff_status }]);
  });

  test('license is refunded', async () => {
    const email = 'refunded@example.com';
    await sell(service, email, 'refunded');
    await service.app.get(PurchasesService).record({ transaction_id: 'refunded', status: 'refunded' });
    const holder = await newBrowser().signInByCode(email);
    expect((await readLicenses(holder)).licenses).toMatchObject([{ status: 'refunded' }]);
  });

  test('license is expired', async () => {
    const expires_at = new Date('2026-01-01T00:00:00Z');
    const license = await service.issue({ email: 'expired@example.com', expires_at, on_expiry: 'stop' });
    const holder = await newBrowser().signInByKey(license);
    expect((await readLicenses(holder)).licenses).toMatchObject([
      { status: 'active', expires_at: '2026-01-01T00:00:00Z', on_expiry: 'stop' },
    ]);
  });
});

test.each([
  ['no e-mail', { license_key: 'MOOR_E6S7-Z8KJ-TB3R-QKX6' }, ['/email']],
  ['an invalid e-mail', { email: 'ada', code: '12345678' }, ['/email']],
  ['neither key nor code', { email: 'ada@example.com' }, ['/license_key', '/code']],
  [
    'both key and code',
    { email: 'a@example.com', license_key: 'x', code: '12345678' },
    ['/license_key', '/code'],
  ],
  ['a key of another shape', { email: 'a@example.com', license_key: 'MOOR' }, ['/license_key']],
  ['a key that is null', { email: 'a@example.com', license_key: null }, ['/license_key']],
  ['a code of 7 digits', { email: 'a@example.com', code: '1234567' }, ['/code']],
  ['a code of 9 digits', { email: 'a@example.com', code: '123456789' }, ['/code']],
  ['a code in digits of another script', { email: 'a@example.com', code: '١٢٣٤٥٦٧٨' }, ['/code']],
  ['a code that is a number', { email: 'a@example.com', code: 12345678 }, ['/code']],
])('sign-in answers 422 to %s', async (_what, body, pointers) => {
  const { status, json } = await newBrowser().call('POST', '/session', body);
  expect([status, json.code]).toEqual([422, 'invalid_request']);
  expect(json.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(pointers);
});

test.each([[{}], [{ email: 'ada' }], [{ email: null }], [{ email: 'a\0@example.com' }]])(
  'a request for a code with %j is answered with 422',
  async (body) => {
    const { status, json, cookies } = await newBrowser().call('POST', '/session/code', body);
    expect([status, json.errors[0].pointer, cookies]).toEqual([422, '/email', []]);
  },
);

describe('the cookies', () => {
  const attributes = (line: string) =>
    line
      .split('; ')
      .slice(1)
      .filter((attribute) => !attribute.startsWith('Expires='))
      .toSorted();

  test('over http are HttpOnly and SameSite=Strict; only the cookie of a code has a Max-Age', async () => {
    const license = await service.issue({ email: 'cookies@example.com' });
    const signIn = (body: unknown) => newBrowser().call('POST', '/session', body);
    const [session] = (await signIn({ email: license.email, license_key: license.license_key })).cookies;
    expect(session).toMatch(/^mooring_holder=[\w-]{43};/);
    expect(attributes(session!)).toEqual(['HttpOnly', 'Path=/', 'SameSite=Strict']);
    const [code] = (await newBrowser().call('POST', '/session/code', { email: license.email })).cookies;
    expect(code).toMatch(
      /^mooring_code=[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12};/,
    );
    expect(attributes(code!)).toEqual(['HttpOnly', 'Max-Age=600', 'Path=/', 'SameSite=Strict']);
  });

  test('over https are also Secure, and bound to the host by the prefix __Host-', async () => {
    const origin = 'https://licenses.example.org';
    const secure = await Service.beside(service, {
      environment: { PUBLIC_URL: `${origin}/shop` },
    });
    const license = await service.issue({ email: 'secure@example.com' });
    const holder = new Browser(secure, origin);
    const lines = [
      ...(await holder.call('POST', '/session/code', { email: license.email })).cookies,
      ...(await holder.signInByKey(license).then(() => holder.call('DELETE', '/session'))).cookies,
    ];
    expect(lines.map((line) => line.split('=')[0])).toEqual(['__Host-mooring_code', '__Host-mooring_holder']);
    for (const line of lines) {
      expect(attributes(line)).toEqual(
        expect.arrayContaining(['HttpOnly', 'Path=/', 'SameSite=Strict', 'Secure']),
      );
      expect(line).not.toMatch(/domain/i);
    }
    await secure.close();
  });

  test('the database has only a hash of the session', async () => {
    const license = await service.issue({ email: 'hashed@example.com' });
    const holder = await newBrowser().signInByKey(license);
    const token = holder.cookies.get('mooring_holder')!;
    const rows = await service.sql('select token_hash from session where license_id = $1', [
      license.license_id,
    ]);
    expect(rows).toEqual([{ token_hash: hash('sha256', token, 'buffer') }]);
  });
});

test('the routes of a session have the refusals that all writes of the portal have in common', async () => {
  const license = await service.issue({ email: 'common@example.com' });
  const body = { email: license.email, license_key: license.license_key };
  expect(await commonRefusals(newBrowser(), { path: '/session', body })).toEqual(COMMON_REFUSALS);
  const code = { path: '/session/code', body: { email: license.email }, table: 'one_time_code' };
  expect(await commonRefusals(newBrowser(), code)).toEqual(COMMON_REFUSALS);
  const holder = await newBrowser().signInByKey(license);
  expect(await commonRefusals(holder, { method: 'DELETE', path: '/session' })).toEqual(COMMON_REFUSALS);
  expect((await newBrowser().call('DELETE', '/session')).json.code).toBe('sign_in_required');
});

test('the tests of this file have received every documented response to a write except 429, which codes.test.ts tests', () => {
  const tooOften = ['POST /portal/api/session 429', 'POST /portal/api/session/code 429'];
  expect(unseenResponses(/^(?!GET).* \/portal\/api\/session/)).toEqual(tooOften);
});
