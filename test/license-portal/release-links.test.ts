import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { everyRow } from '../erasure/harness.js';
import { NOW, Service } from '../support/harness.js';
import { Browser, codeAfter, mailedCodes, wrongCode } from './harness.js';

const JUST_VALID = '2026-11-20T13:09:59Z';
const EXPIRED = '2026-11-20T13:10:00Z';
const WRONG_HINT = {
  status: 422,
  json: {
    code: 'invalid_request',
    errors: [{ pointer: '/hint', detail: 'is not valid any more: activate once more in the application' }],
  },
};

let service: Service;
beforeAll(async () => {
  service = await Service.start({ environment: { SELF_RELEASES_PER_YEAR: '2' } });
});
beforeEach(() => service.clock.set(NOW));
afterAll(() => service.close());

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

const requestCode = (browser: Browser, hint: unknown) => browser.call('POST', '/session/code', { hint });

test('with the release link and one code a holder can move the license to a new machine; the hint is not stored', async () => {
  const { link, hint, email, license_id, activation_id, ...license } = await fullLicense();
  expect(`${link.origin}${link.pathname}`).toBe('http://localhost:3000/portal/');
  // The hint begins with the license id of 36 characters, which a table has, so only the rest is searched for.
  expect((await everyRow(service)).join('\n')).not.toContain(hint.slice(37));
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
  expect((await everyRow(service)).join('\n')).not.toContain('Anna’s Mac');
  expect(service.logged.join('')).not.toContain('Anna’s Mac');
});

test('a hint is valid for ten minutes, and only for its license and the address of this license', async () => {
  const { hint, email, license_id } = await fullLicense();
  const browser = new Browser(service);
  service.clock.set(JUST_VALID);
  expect((await requestCode(browser, hint)).status).toBe(202);
  service.clock.set(EXPIRED);
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
  await service.app.get(LicensesService).set(license_id, change, { actor: 'test', reason: 'a test' });
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

test('a code without the address works only in the browser that requested it, and has five tries', async () => {
  const { hint, email } = await fullLicense();
  const browser = new Browser(service);
  const code = await codeAfter(service, email, () => requestCode(browser, hint));
  const refused = { status: 403, json: { code: 'code_invalid' } };
  expect(await new Browser(service).call('POST', '/session', { code })).toMatchObject(refused);
  for (let tries = 0; tries < 5; tries += 1)
    expect(await browser.call('POST', '/session', { code: wrongCode(code) })).toMatchObject(refused);
  expect(await browser.call('POST', '/session', { code })).toMatchObject(refused);
});

test('a key without the address is refused', async () => {
  const { license_key } = await fullLicense();
  const { status, json } = await new Browser(service).call('POST', '/session', { license_key });
  expect([status, json['errors']]).toMatchObject([422, [{ pointer: '/email' }]]);
});

test('codes by hint and by address have one limit', async () => {
  const { hint, email } = await fullLicense();
  const browser = new Browser(service);
  for (let count = 0; count < 5; count += 1) {
    expect((await requestCode(browser, hint)).status).toBe(202);
    expect((await browser.call('POST', '/session/code', { email })).status).toBe(202);
  }
  expect((await requestCode(browser, hint)).status).toBe(429);
});

test('of two machines that activate during a release, exactly one is activated, for each of 200 licenses', async () => {
  const email = `${randomUUID()}@example.com`;
  const licenses = await Promise.all(
    Array.from({ length: 200 }, () => service.issue({ email, machines_allowed: 1 })),
  );
  const browser = await new Browser(service).signInByCode(email);
  for (const license of licenses) {
    const { json } = await service.activate(license, 'old');
    const activate = (machine: string) => service.activate(license, machine);
    const release = browser.call('POST', `/activations/${json.activation.id}/release`);
    const early = await Promise.all([activate('a'), activate('b'), release]);
    const late = await Promise.all([activate('a'), activate('b')]);
    const statuses = [...early.slice(0, 2), ...late].map(({ status }) => status);
    expect(early[2].status).toBe(200);
    expect(statuses.filter((status) => status === 201)).toHaveLength(1);
    expect(late.map(({ status }) => status).filter((status) => status === 409)).toHaveLength(1);
    const active = 'select from activation where license_id = $1 and ended_at is null';
    expect(await service.sql(active, [license.license_id])).toHaveLength(1);
  }
});
