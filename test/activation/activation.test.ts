import { expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { ReleaseService } from '../../src/releases/release.service.js';
import { activation, AUDIT_CONTEXT, machineId, Service } from '../support/harness.js';
import { unseenResponses } from '../support/http/openapi.js';
import { everyRow, expectFailures } from '../support/tables.js';

/** A key that no license has. Its check symbol is correct. */
const UNKNOWN_KEY = 'MOOR_E6S7-Z8KJ-TB3R-QKX6';

const service = await Service.start();

const post = (body: unknown, headers: Record<string, string> = {}) =>
  service.call('POST', '/v1/activate', body, headers);

test('201 returns the token, the activation and the state of the license', async () => {
  service.clock.set('2026-11-20T13:00:00.789Z');
  const license = await service.issue({ machines_allowed: 2, expires_at: new Date('2027-05-01T00:00:00Z') });
  const answer = await service.activate(license, 'studio', { hostname_hint: 'Studio Mac' });
  expect(answer.status).toBe(201);
  expect(answer.json).toEqual({
    token: expect.any(String),
    offline_until: '2026-11-27T13:00:00Z',
    heartbeat_after_seconds: 21_600,
    server_time: '2026-11-20T13:00:00Z',
    activation: {
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      activated_at: '2026-11-20T13:00:00Z',
      hostname_hint: 'Studio Mac',
    },
    license: {
      status: 'active',
      expires_at: '2027-05-01T00:00:00Z',
      machines_allowed: 2,
      machines_in_use: 1,
    },
  });
  const { sub, lic, exp } = decodeJwt(answer.json.token);
  expect({ sub, lic }).toEqual({ sub: answer.json.activation.id, lic: license.license_id });
  expect(exp).toBe(Date.parse(answer.json.offline_until) / 1000);
});

test('200 returns the existing activation of a machine unchanged, with a new token', async () => {
  const license = await service.issue();
  const first = await service.activate(license, 'studio', { hostname_hint: 'Studio Mac' });
  service.clock.advance(3_600_000);
  const again = await service.activate(license, 'studio', { hostname_hint: 'Other', app_version: '4.0' });
  expect([first.status, again.status]).toEqual([201, 200]);
  expect(again.json.activation).toEqual(first.json.activation);
  expect(again.json.license.machines_in_use).toBe(1);
  expect(Date.parse(again.json.offline_until) - Date.parse(first.json.offline_until)).toBe(3_600_000);
  expect(await service.activeMachines(license)).toMatchObject([{ hostname_hint: 'Studio Mac' }]);
});

test('a machine_id in upper case is the same machine, stored as the same 32 bytes', async () => {
  const license = await service.issue();
  const upper = await service.activate(license, 'studio', { machine_id: machineId('studio').toUpperCase() });
  const lower = await service.activate(license, 'studio');
  expect([upper.status, lower.status]).toEqual([201, 200]);
  expect(decodeJwt(lower.json.token)['mch']).toBe(decodeJwt(upper.json.token)['mch']);
  expect(await service.activeMachines(license)).toMatchObject([{ machine: machineId('studio') }]);
});

test('after a release another machine can activate, and the first machine can get a new activation', async () => {
  const license = await service.issue();
  const first = await service.activate(license, 'studio', { hostname_hint: 'Studio Mac' });
  expect((await service.activate(license, 'laptop')).status).toBe(409);
  await service.app.get(ReleaseService).release(first.json.activation.id, AUDIT_CONTEXT);
  expect((await service.activate(license, 'laptop')).status).toBe(201);
  expect((await service.activate(license, 'studio')).status).toBe(409);
  await service.setLicense(license.license_id, { machines_allowed: 2 });
  const second = await service.activate(license, 'studio', { hostname_hint: 'Renamed' });
  expect(second.status).toBe(201);
  expect(second.json.activation).toMatchObject({ hostname_hint: 'Renamed' });
  expect(second.json.activation.id).not.toBe(first.json.activation.id);
});

test('lowering the machine limit ends no activation, and allows no new machine', async () => {
  const license = await service.issue({ machines_allowed: 3 });
  for (const machine of ['a', 'b', 'c']) await service.activate(license, machine);
  await service.setLicense(license.license_id, { machines_allowed: 1 });
  const known = await service.activate(license, 'c');
  expect(known.status).toBe(200);
  expect(known.json.license).toMatchObject({ machines_allowed: 1, machines_in_use: 3 });
  const refused = await service.activate(license, 'd');
  expect(refused.status).toBe(409);
  expect(refused.json).toMatchObject({ machines_allowed: 1, machines_in_use: 3 });
  expect(refused.json.detail).toContain('active on 3 of 1 machines');
  expect(await service.activeMachines(license)).toHaveLength(3);
});

test('unknown members are ignored, and are neither stored nor logged', async () => {
  const license = await service.issue();
  const body = JSON.stringify({
    ...activation(license),
    canary7141: 'canary7142',
    more: { canary7143: [1] },
  });
  const answer = await post(body.replace('{', '{"__proto__":{"canary7144":1},"constructor":"canary7145",'));
  expect(answer.status).toBe(201);
  const recorded = [...(await everyRow(service.database)), ...service.logged].join('\n');
  expect(recorded).toContain(license.license_id);
  expect(recorded).not.toContain('canary71');
});

test.each([
  ['400 for a body that is not JSON', '{"license_key":', {}, 400, 'malformed_request'],
  ['400 for a body that is not an object', '["license_key"]', {}, 400, 'malformed_request'],
  [
    '400 for a body that is not UTF-8',
    Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    {},
    400,
    'malformed_request',
  ],
  ['413 for a body over 16 KiB', JSON.stringify({ more: 'x'.repeat(16_384) }), {}, 413, 'body_too_large'],
  [
    '415 for a body that is not declared as JSON',
    '{}',
    { 'content-type': 'text/plain' },
    415,
    'unsupported_media_type',
  ],
])('an activation is answered with %s', async (_what, body, headers, status, code) => {
  const answer = await post(body, headers);
  expect([answer.status, answer.json.code, answer.json.client_action]).toEqual([status, code, 'fix']);
});

test('the client is asked to retry, with 500 if a table is missing and with 503 if it is locked', async () => {
  const license = await service.issue();
  await expectFailures(service, 'license', () => service.activate(license));
});

test('an activation is answered with 404 if no license has this key and e-mail, and with 422 if a member is invalid', async () => {
  const license = await service.issue();
  const unknown = await service.activate({ ...license, email: 'eve@example.com' });
  expect([unknown.status, unknown.json.code]).toEqual([404, 'license_not_found']);
  const wrong = await service.activate({ ...license, email: 'eve' });
  expect([wrong.status, wrong.json.code]).toEqual([422, 'invalid_request']);
});

test('an activation is answered with 403 as soon as staff revoke the license, also for its active machine', async () => {
  const license = await service.issue({ machines_allowed: 2 });
  await service.activate(license, 'studio');
  await service.setLicense(license.license_id, { staff_status: 'revoked' });
  for (const machine of ['studio', 'laptop']) {
    const { status, json } = await service.activate(license, machine);
    expect([status, json.code, json.client_action]).toEqual([403, 'license_revoked', 'stop']);
  }
});

test.each([
  ['spaces around the key and the e-mail address', ' \tMOOR_0101-0101-0101-0101\n', ' ada@example.com '],
  ['a key in lower case', 'moor_0101-0101-0101-0101', 'ada@example.com'],
  ['a key with O, I and L in place of 0 and 1', 'MOOR_OIOI-OLOL-oioi-olol', 'ada@example.com'],
  ['a key with 0 in place of O in its prefix', 'm00r-0101-0101-0101-0101', 'ada@example.com'],
  ['an e-mail address in capitals', 'MOOR_0101-0101-0101-0101', '\tADA@Example.COM'],
])('an activation accepts %s', async (_what, license_key, email) => {
  const license = await service.issue();
  // An earlier case may have given this key to its license, and two licenses cannot have the same key.
  await service.sql(
    'update license set key_hash = sha256(random()::text::bytea) where key_hash = sha256($1)',
    [Buffer.from('MOOR_0101-0101-0101-0101')],
  );
  // The license gets the canonical form of the typed key. The check symbol of the key is wrong, but it is checked only if no
  // license has the key.
  await service.sql('update license set key_hash = sha256($1) where id = $2', [
    Buffer.from('MOOR_0101-0101-0101-0101'),
    license.license_id,
  ]);
  const answer = await post(activation({ license_key, email }));
  expect(answer.status).toBe(201);
  expect(await service.activeMachines(license)).toHaveLength(1);
});

test('an activation is answered with 422 that says that one character looks mistyped, with any e-mail', async () => {
  const license = await service.issue();
  const last = license.license_key.at(-1) === '2' ? '3' : '2';
  const mistyped = license.license_key.slice(0, -1) + last;
  const swapped = UNKNOWN_KEY.replace('E6S7', '6ES7');
  for (const [license_key, email] of [
    [mistyped, license.email],
    [mistyped, 'eve@example.com'],
    [swapped, license.email],
  ] as const) {
    const answer = await post(activation({ license_key, email }));
    expect(answer.status).toBe(422);
    expect(answer.json).toMatchObject({ code: 'invalid_request', client_action: 'fix' });
    expect(answer.json.errors).toEqual([
      { pointer: '/license_key', detail: 'has one character that looks mistyped' },
    ]);
  }
  expect(await service.activeMachines(license)).toEqual([]);
});

test('the tests of this file have seen every documented response', () => {
  expect(unseenResponses(/^POST \/v1\/activate /)).toEqual([]);
});
