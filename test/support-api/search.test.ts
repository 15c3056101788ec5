import { beforeEach, expect, test } from '@jest/globals';
import { hash, randomUUID } from 'node:crypto';
import { ReleaseService } from '../../src/releases/release.service.js';
import { AUDIT_CONTEXT, machineId, NOW, Service } from '../support/harness.js';
import { unseenResponses } from '../support/http/openapi.js';
import { expectFailures } from '../support/tables.js';

const service = await Service.start();
const token = await service.staffToken();
beforeEach(() => service.clock.set(NOW));

const SEARCH = '/support/api/licenses/search';

const search = (body: unknown, headers: Record<string, string> = {}) =>
  service.call('POST', SEARCH, body, { authorization: `Bearer ${token}`, ...headers });

async function findIds(body: unknown): Promise<string[]> {
  const { status, json } = await search(body);
  expect(status).toBe(200);
  return json.licenses.map(({ id }: { id: string }) => id);
}

test('a search finds a license by e-mail, key, transaction or activation; e-mail and key are normalized as for an activation', async () => {
  const license = await service.issue({ email: 'finder@example.com' });
  const { id } = (await service.activate(license)).json.activation;
  await service.setPurchase(license.license_id, 'paid', 'tx_4711');
  await service.issue({ email: 'other@example.com' });
  for (const body of [
    { email: 'finder@example.com' },
    { email: ' Finder@Example.com ' },
    { license_key: license.license_key },
    { license_key: ` ${license.license_key.toLowerCase()} ` },
    { transaction_id: 'tx_4711' },
    { activation_id: id },
    { activation_id: id.toUpperCase() },
    { email: 'finder@example.com', name: 'unknown members are ignored' },
  ]) {
    expect({ body, found: await findIds(body) }).toEqual({ body, found: [license.license_id] });
  }
});

test('a search finds only exact matches', async () => {
  const license = await service.issue({ email: 'exact@example.com' });
  for (const body of [
    ...['exact@example.co', 'xact@example.com', '%@example.com', '_xact@example.com'].map((email) => ({
      email,
    })),
    { license_key: 'MOOR_E6S7-Z8KJ-TB3R-QKX6' },
    { transaction_id: 'tx' },
    { transaction_id: '%' },
    { activation_id: randomUUID() },
    { activation_id: license.license_id },
  ]) {
    expect({ body, found: await findIds(body) }).toEqual({ body, found: [] });
  }
});

test.each<[string, unknown, string | null]>([
  ['none of the four members', {}, null],
  ['an unknown member only', { name: 'ada' }, null],
  ['two of the four members', { email: 'ada@example.com', transaction_id: 'tx' }, null],
  [
    'all of the four members',
    {
      email: 'a@b',
      transaction_id: 'tx',
      license_key: 'MOOR_E6S7-Z8KJ-TB3R-QKX6',
      activation_id: randomUUID(),
    },
    null,
  ],
  ['an invalid e-mail', { email: 'ada' }, '/email'],
  ['an e-mail that is null', { email: null }, '/email'],
  ['an e-mail that is a list', { email: ['ada@example.com'] }, '/email'],
  ['an invalid key', { license_key: 'MOOR' }, '/license_key'],
  ['a transaction that is a number', { transaction_id: 4711 }, '/transaction_id'],
  ['an empty transaction', { transaction_id: '' }, '/transaction_id'],
  ['a transaction with a NUL', { transaction_id: 'tx\0' }, '/transaction_id'],
  ['a transaction with half a surrogate pair', { transaction_id: 'tx\ud83d' }, '/transaction_id'],
  ['a transaction of 201 characters', { transaction_id: 'x'.repeat(201) }, '/transaction_id'],
  ['an activation that is not a uuid', { activation_id: 'x' }, '/activation_id'],
  ['an object for a value', { activation_id: { $gt: '' } }, '/activation_id'],
])('a search with %s is answered with 422', async (_what, body, pointer) => {
  const { status, json } = await search(body);
  expect([status, json.code]).toEqual([422, 'invalid_request']);
  const pointers = json.errors.map((error: { pointer: string }) => error.pointer);
  if (pointer) expect(pointers).toEqual([pointer]);
  else expect(pointers).not.toEqual([]);
});

test('a search lists the newest license first, and of each the active activations before ended ones, newest first', async () => {
  const email = 'many@example.com';
  const older = await service.issue({ email });
  const newer = await service.issue({
    email,
    machines_allowed: 3,
    expires_at: new Date('2027-05-01T00:00:00Z'),
  });
  const ids: string[] = [];
  for (const machine of ['a', 'b', 'c']) {
    service.clock.advance(60_000);
    ids.push(
      (await service.activate(newer, machine, { hostname_hint: `Mac ${machine}` })).json.activation.id,
    );
  }
  await service.app.get(ReleaseService).release(ids[2]!, AUDIT_CONTEXT);
  const { licenses } = (await search({ email })).json;
  expect(licenses.map(({ id }: { id: string }) => id)).toEqual([newer.license_id, older.license_id]);
  const activation = (i: number, more: object = {}) => ({
    id: ids[i],
    hostname_hint: `Mac ${'abc'[i]}`,
    app_version: '3.2.0',
    activated_at: `2026-11-20T13:0${i + 1}:00Z`,
    state: 'active',
    ended_at: null,
    ended_reason: null,
    ...more,
  });
  expect(licenses[0]).toEqual({
    id: newer.license_id,
    key_hint: newer.license_key.slice(-2),
    email,
    is_address_lost: false,
    previous_key_hint: null,
    status: 'active',
    expires_at: '2027-05-01T00:00:00Z',
    on_expiry: 'keep',
    machines_allowed: 3,
    machines_in_use: 2,
    created_at: NOW,
    activations: [
      activation(1),
      activation(0),
      activation(2, { state: 'released', ended_at: '2026-11-20T13:03:00Z', ended_reason: 'released' }),
    ],
  });
});

test('a search shows no key, no hash of a key and no machine id, in any form', async () => {
  const license = await service.issue({ email: 'secret@example.com' });
  await service.activate(license, 'studio');
  const { text } = await search({ email: 'secret@example.com' });
  const digests = [hash('sha256', license.license_key, 'buffer'), Buffer.from(machineId('studio'), 'hex')];
  // Each form that the text of a response could have, also an array of bytes.
  const secrets = digests.flatMap((bytes) => [
    ...(['hex', 'base64', 'base64url'] as const).map((encoding) => bytes.toString(encoding)),
    [...bytes.subarray(0, 8)].join(','),
  ]);
  // The first two groups of the key, after the prefix `MOOR_`.
  const keyGroups = license.license_key.slice(5, 14);
  for (const secret of [license.license_key, keyGroups, ...secrets]) {
    expect(text.toLowerCase()).not.toContain(secret.toLowerCase());
  }
  expect(text).toContain(license.license_id);
});

test.each([
  ['400', '{', {}, 'malformed_request'],
  ['401', '{}', { authorization: 'Bearer x' }, 'sign_in_required'],
  ['403', '{}', { origin: 'https://evil.example' }, 'cross_origin'],
  ['413', JSON.stringify({ more: 'x'.repeat(20_000) }), {}, 'body_too_large'],
  ['415', '{}', { 'content-type': 'text/plain' }, 'unsupported_media_type'],
])('a malformed or unauthorized search is answered with %s', async (status, body, headers, code) => {
  const answer = await search(body, headers);
  expect([String(answer.status), answer.json.code]).toEqual([status, code]);
});

test('a search is answered with 500 if a table is missing, and with 503 if it is locked', async () => {
  await expectFailures(service, 'license', () => search({ email: 'ada@example.com' }));
});

test('the tests of this file have received every documented response', () => {
  expect(unseenResponses(/^POST \/support\/api\/licenses\/search /)).toEqual([]);
});
