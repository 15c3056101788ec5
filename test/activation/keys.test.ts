import { expect, test } from '@jest/globals';
import { activation, Service } from '../support/harness.js';

/** A key that no license has. Its check symbol is correct. */
const UNKNOWN_KEY = 'MOOR_E6S7-Z8KJ-TB3R-QKX6';

const service = await Service.start();

const post = (body: unknown) => service.call('POST', '/v1/activate', body);

const activeMachines = (license: { license_id: string }) =>
  service.sql('select id from activation where license_id = $1 and ended_at is null', [license.license_id]);

test.each([
  ['spaces around the key and the e-mail address', ' \tMOOR_0101-0101-0101-0101\n', ' ada@example.com '],
  ['a key in lower case', 'moor_0101-0101-0101-0101', 'ada@example.com'],
  ['a key with O, I and L in place of 0 and 1', 'MOOR_OIOI-OLOL-oioi-olol', 'ada@example.com'],
  ['a key with 0 in place of O in its prefix', 'm00r-0101-0101-0101-0101', 'ada@example.com'],
  ['an e-mail address in capitals', 'MOOR_0101-0101-0101-0101', '\tADA@Example.COM'],
])('accepts %s', async (_what, license_key, email) => {
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
  expect(await activeMachines(license)).toHaveLength(1);
});

test('422 says that one character looks mistyped, with any e-mail', async () => {
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
  expect(await activeMachines(license)).toEqual([]);
});
