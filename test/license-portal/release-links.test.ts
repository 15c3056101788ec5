import { beforeEach, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { erase } from '../erasure/harness.js';
import { NOW, Service } from '../support/harness.js';
import { Browser, codeAfter, mailedCodes, wrongCode } from './harness.js';
import { everyRow } from '../support/tables.js';
import { OpenTransaction } from '../support/open-transaction.js';

const JUST_VALID = '2026-11-20T13:09:59Z';
const MORE_THAN_AN_HOUR_EARLIER = '2026-11-20T11:59:59Z';
const EXPIRED = '2026-11-20T13:10:00Z';
const WRONG_HINT = {
  status: 422,
  json: {
    code: 'invalid_request',
    errors: [{ pointer: '/hint', detail: 'is not valid any more: activate once more in the application' }],
  },
};

const service = await Service.start({ environment: { SELF_RELEASES_PER_YEAR: '2' } });
beforeEach(() => service.clock.set(NOW));

/** A license that has reached its machine limit, and the release link in the refusal of a second machine. */
async function fullLicense() {
  const license = await service.issue({ email: `${randomUUID()}@example.com`, machines_allowed: 1 });
  const { json } = await service.activate(license, 'old');
  const refused = await service.activate(license, 'new');
  expect(refused.json.code).toBe('machine_limit_reached');
  const link = new URL(refused.json['release_url'] as string);
  const hint = new URLSearchParams(link.hash.slice(1)).get('release')!;
  return { ...license, link, hint, activation_id: json.activation.id as string };
}

/** The part of a hint after the license id. A table has the id, so to find it there would not mean that a hint is stored. */
const withoutLicenseId = (hint: string) => hint.slice(hint.indexOf('.') + 1);
const requestCode = (browser: Browser, hint: unknown) => browser.call('POST', '/session/code', { hint });
/** Requests a code with a hint. @returns the mailed code */
const mailedCode = (browser: Browser, { email, hint }: { email: string; hint: string }) =>
  codeAfter(service, email, async () => expect((await requestCode(browser, hint)).status).toBe(202));
const signIn = (browser: Browser, code: string) => browser.call('POST', '/session', { code });
const CODE_INVALID = { status: 403, json: { code: 'code_invalid' } };

test('with the release link and one code a holder can move the license to a new machine; the hint is not stored', async () => {
  const { link, hint, email, license_id, activation_id, ...license } = await fullLicense();
  expect(`${link.origin}${link.pathname}`).toBe('http://localhost:3000/portal/');
  expect((await everyRow(service.database)).join('\n')).not.toContain(withoutLicenseId(hint));
  expect(service.logged.join('')).not.toContain(hint);

  const browser = new Browser(service);
  const code = await codeAfter(service, email, async () => {
    const { status, json } = await requestCode(browser, hint);
    expect([status, json]).toEqual([202, { sent_to: `${email[0]}…@example.com` }]);
  });
  expect(await browser.call('POST', '/session', { code })).toMatchObject({ status: 204 });
  const { json } = await browser.call('GET', '/session');
  expect(json).toMatchObject({ email, signed_in_by: 'code', licenses: [{ id: license_id }] });
  expect((await browser.call('POST', `/activations/${activation_id}/release`)).status).toBe(200);
  expect((await service.activate({ ...license, email }, 'new')).status).toBe(201);
});

test('the release link names the refused machine by the label and version of the request, which are stored and logged nowhere', async () => {
  const license = await service.issue({ machines_allowed: 1 });
  await service.activate(license, 'old');
  const fragmentFor = async (hostname_hint?: string) => {
    const { json } = await service.activate(license, 'new', { hostname_hint });
    return Object.fromEntries(new URLSearchParams(new URL(json['release_url'] as string).hash.slice(1)));
  };
  const release = expect.stringMatching(license.license_id);
  const label = '<b>Anna’s Mac & Co</b> #1+%&release=😀';
  const machine = label.padEnd(100, '😀');
  expect(await fragmentFor(` \u202e${machine}`)).toEqual({ release, machine, version: '3.2.0' });
  expect(await fragmentFor()).toEqual({ release, version: '3.2.0' });
  expect((await everyRow(service.database)).join('\n')).not.toContain('Anna’s Mac');
  expect(service.logged.join('')).not.toContain('Anna’s Mac');
});

test('a hint is valid for ten minutes, and only for its license and the address of this license', async () => {
  const { hint, email, license_id } = await fullLicense();
  const browser = new Browser(service);
  service.clock.set(JUST_VALID);
  expect((await requestCode(browser, hint)).status).toBe(202);
  service.clock.set(EXPIRED);
  expect(await requestCode(browser, hint)).toMatchObject(WRONG_HINT);
  // The hint was created while the clock was more than an hour ahead.
  service.clock.set(MORE_THAN_AN_HOUR_EARLIER);
  expect(await requestCode(browser, hint)).toMatchObject(WRONG_HINT);

  service.clock.set(NOW);
  const other = await fullLicense();
  const [, expiry, mac] = hint.split('.');
  const changed = [
    `${other.license_id}.${expiry}.${mac}`,
    `${license_id}.${Number(expiry) + 1}.${mac}`,
    `${randomUUID()}.${expiry}.${mac}`,
    `${license_id}.${expiry}.${other.hint.split('.')[2]}`,
  ];
  for (const each of changed) expect(await requestCode(browser, each)).toMatchObject(WRONG_HINT);

  const change = { email: `next-${email}` };
  await service.setLicense(license_id, change);
  expect(await requestCode(browser, hint)).toMatchObject(WRONG_HINT);
  expect(await mailedCodes(service, change.email)).toEqual([]);
});

test.each([
  ['no member', {}, ['/email']],
  [
    'an address and a hint',
    { email: 'ada@example.com', hint: `${randomUUID()}.1795086600.${'a'.repeat(43)}` },
    ['/hint'],
  ],
  ['a text that is not a hint', { hint: 'x' }, ['/hint']],
  ['a number', { hint: 7 }, ['/hint']],
  ['null', { hint: null }, ['/hint']],
])('a request for a code with %s is refused', async (_what, body, pointers) => {
  const { status, json } = await new Browser(service).call('POST', '/session/code', body);
  const errors = json['errors'] as { pointer: string }[];
  expect([status, errors.map(({ pointer }) => pointer)]).toEqual([422, pointers]);
});

test('a sign-in with a code and no address is refused in a browser that did not request the code; the code has five tries', async () => {
  const browser = new Browser(service);
  const code = await mailedCode(browser, await fullLicense());
  expect(await signIn(new Browser(service), code)).toMatchObject(CODE_INVALID);
  for (let tries = 0; tries < 5; tries += 1)
    expect(await signIn(browser, wrongCode(code))).toMatchObject(CODE_INVALID);
  expect(await signIn(browser, code)).toMatchObject(CODE_INVALID);
});

test('a hint works for one sign-in: after it no code is mailed, and a request counts for no limit', async () => {
  const license = await fullLicense();
  const [browser, other] = [new Browser(service), new Browser(service)];
  const code = await mailedCode(browser, license);
  expect((await signIn(browser, wrongCode(code))).status).toBe(403);
  expect((await signIn(browser, code)).status).toBe(204);
  for (let count = 0; count < 10; count += 1)
    expect(await requestCode(other, license.hint)).toMatchObject(WRONG_HINT);
  service.clock.set(JUST_VALID);
  expect(await requestCode(browser, license.hint)).toMatchObject(WRONG_HINT);
  expect(await signIn(browser, code)).toMatchObject(CODE_INVALID);
  expect(await mailedCodes(service, license.email)).toEqual([code]);
  // The next refusal has another hint, and the address has nine of its ten code mails left.
  const { json } = await service.activate(license, 'new');
  const next = new URLSearchParams(new URL(json['release_url'] as string).hash.slice(1)).get('release')!;
  await signIn(other, await mailedCode(other, { ...license, hint: next }));
  expect((await other.call('GET', '/session')).status).toBe(200);
});

test('the row of a used hint has neither the hint nor its code, and an erasure of the holder deletes it', async () => {
  const license = await fullLicense();
  const browser = new Browser(service);
  const code = await mailedCode(browser, license);
  const rows = () =>
    service.sql('select nonce, expires_at from one_time_code where email = $1', [license.email]);
  expect(await rows()).toEqual([{ nonce: expect.any(Buffer), expires_at: new Date(EXPIRED) }]);
  await signIn(browser, code);
  expect(await rows()).toEqual([{ nonce: null, expires_at: new Date(EXPIRED) }]);
  expect((await everyRow(service.database)).join('\n')).not.toContain(withoutLicenseId(license.hint));
  await erase(service, license.email);
  expect(await rows()).toEqual([]);
  expect(await requestCode(browser, license.hint)).toMatchObject(WRONG_HINT);
});

test('before the sign-in a hint can be used again, in each browser: only the newest code is valid, with five tries', async () => {
  const license = await fullLicense();
  const [first, second] = [new Browser(service), new Browser(service)];
  const lost = await mailedCode(first, license);
  for (let tries = 0; tries < 5; tries += 1) await signIn(first, wrongCode(lost));
  const again = await mailedCode(first, license);
  const newest = await mailedCode(second, license);
  expect(await signIn(first, again)).toMatchObject(CODE_INVALID);
  for (let tries = 0; tries < 4; tries += 1) await signIn(second, wrongCode(newest));
  expect((await signIn(second, newest)).status).toBe(204);
  expect(await requestCode(first, license.hint)).toMatchObject(WRONG_HINT);
});

test.each([
  { first: 'sign-in', signedIn: 204, requested: 422 },
  { first: 'request', signedIn: 403, requested: 202 },
])(
  'of a sign-in and a code request at another instance with the same hint, only the first succeeds: the $first',
  async ({ first, signedIn, requested }) => {
    const instance = await Service.beside(service);
    instance.clock.set(NOW);
    const license = await fullLicense();
    const [browser, elsewhere] = [new Browser(service), new Browser(instance)];
    const code = await mailedCode(browser, license);
    const lock = 'select from one_time_code where email = $1 for update';
    const transaction = await OpenTransaction.begin(service, lock, [license.email]);
    const requests = {
      'sign-in': () => signIn(browser, code),
      request: () => requestCode(elsewhere, license.hint),
    };
    const order = first === 'sign-in' ? (['sign-in', 'request'] as const) : (['request', 'sign-in'] as const);
    const answers: Promise<readonly [string, number]>[] = [];
    for (const [index, name] of order.entries()) {
      answers.push(requests[name]().then(({ status }) => [name, status] as const));
      await transaction.untilWaiting(undefined, index + 1);
    }
    await transaction.commit();
    expect(Object.fromEntries(await Promise.all(answers))).toEqual({
      'sign-in': signedIn,
      request: requested,
    });
    await instance.close();
  },
);

test('a sign-in with a key and no address is refused', async () => {
  const { license_key } = await fullLicense();
  const { status, json } = await new Browser(service).call('POST', '/session', { license_key });
  expect([status, json['errors']]).toMatchObject([422, [{ pointer: '/email' }]]);
});

test('codes requested by hint and by address share one limit', async () => {
  const { hint, email } = await fullLicense();
  const browser = new Browser(service);
  for (let count = 0; count < 5; count += 1) {
    expect((await requestCode(browser, hint)).status).toBe(202);
    expect((await browser.call('POST', '/session/code', { email })).status).toBe(202);
  }
  expect((await requestCode(browser, hint)).status).toBe(429);
});
