import { beforeEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { LicenseKeys } from '../../src/keys/license-keys.js';
import { NOW, Service, type Answer } from '../support/harness.js';
import { OpenTransaction } from '../support/open-transaction.js';
import { everyRow } from '../support/tables.js';
import { signInStaff } from './harness.js';

const service = await Service.start();
const admin = await signInStaff(service, 'admin');
beforeEach(() => service.clock.set(NOW));

const REQUEST = { machines_allowed: 2, expires_at: '2027-05-01', on_expiry: 'stop' };
const newRequest = () => ({ ...REQUEST, email: `${randomUUID()}@example.com` });

const issueLicense = (body: object, idempotencyKey: string, browser = admin) =>
  browser.call('POST', 'licenses', body, { 'idempotency-key': idempotencyKey });

/** The licenses of an address, each with the number of audit events of its issue. */
const issued = (email: string) =>
  service.sql(
    `select l.id, (select count(*)::int from audit_event where license_id = l.id and action = 'license.issue') as events
     from license l where email = $1`,
    [email],
  );

const seen = ({ status, json }: Answer) => [status, json.code, json.license_id];

describe('a request to issue a license, repeated with its idempotency key', () => {
  test('gets the same license also if it names the terms that were the default, and comes with a session instead of a token', async () => {
    const [email, key] = [`${randomUUID()}@example.com`, 'order 17'];
    const authorization = `Bearer ${await service.staffToken('admin', 'admin@example.com')}`;
    const headers = { authorization, 'idempotency-key': key };
    const first = await service.call('POST', '/support/api/licenses', { email }, headers);
    const terms = { machines_allowed: 1, expires_at: null, on_expiry: 'keep' };
    const repeated = await issueLicense({ email: email.toUpperCase(), ...terms }, key);
    expect([first.status, repeated.status, repeated.json]).toEqual([201, 200, first.json]);
  });

  test('at the same time issues one license: 201 and 200', async () => {
    const [body, key] = [newRequest(), randomUUID()];
    // Both requests have passed every check before either can commit.
    const lock = await OpenTransaction.begin(service, 'lock table audit_event in access exclusive mode');
    const sent = Promise.all([issueLicense(body, key), issueLicense(body, key)]);
    await lock.untilWaiting(sent, 2);
    await lock.commit();
    const answers = await sent;
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 201]);
    expect(answers[1]!.json).toEqual(answers[0]!.json);
    expect(await issued(body.email)).toEqual([{ id: answers[0]!.json.license.id, events: 1 }]);
  });

  test('issues the license if the first request failed', async () => {
    const [body, key] = [newRequest(), randomUUID()];
    expect((await issueLicense({ ...body, machines_allowed: 0 }, key)).status).toBe(422);
    expect((await issueLicense(body, key)).status).toBe(201);
  });

  test.each([
    ['another address', { email: 'other@example.com' }],
    ['another number of machines', { machines_allowed: 3 }],
    ['the default number of machines', { machines_allowed: undefined }],
    ['another expiry', { expires_at: '2027-05-02' }],
    ['no expiry', { expires_at: null }],
    ['another on_expiry', { on_expiry: 'keep' }],
  ])('with %s is answered with 422 and the id of the license, and issues nothing', async (_what, other) => {
    const [body, key] = [newRequest(), randomUUID()];
    const { id } = (await issueLicense(body, key)).json.license;
    const count = () => service.sql('select count(*) from license');
    const before = await count();
    const refused = await issueLicense({ ...body, ...other }, key);
    expect(seen(refused)).toEqual([422, 'idempotency_key_reused', id]);
    expect(refused.text).not.toContain(body.email);
    expect(await count()).toEqual(before);
  });

  test('is answered with 422 after a change of the license, until the change is undone', async () => {
    const [body, key] = [newRequest(), randomUUID()];
    const { id } = (await issueLicense(body, key)).json.license;
    await service.setLicense(id, { staff_status: 'suspended' });
    expect(seen(await issueLicense(body, key))).toEqual([422, 'idempotency_key_reused', id]);
    await service.setLicense(id, { staff_status: 'active' });
    expect((await issueLicense(body, key)).status).toBe(200);
  });

  test('never gets a key that is no longer valid', async () => {
    const [body, key] = [newRequest(), randomUUID()];
    const { id } = (await issueLicense(body, key)).json.license;
    expect((await admin.post(`licenses/${id}/rekey`, { reason: 'It leaked.' })).status).toBe(202);
    expect(seen(await issueLicense(body, key))).toEqual([422, 'idempotency_key_reused', id]);
    // As after a change of LICENSE_KEY_PREFIX: the key that is derived now is not the one that was issued.
    await service.sql('update license set key_generation = 1 where id = $1', [id]);
    expect(seen(await issueLicense(body, key))).toEqual([422, 'idempotency_key_reused', id]);
  });

  test('gets the license that was imported with its key into another database', async () => {
    const [body, key] = [newRequest(), randomUUID()];
    const first = (await issueLicense(body, key)).json;
    const id = uuidv7();
    await service.sql('update license set id = $2 where id = $1', [first.license.id, id]);
    const repeated = await issueLicense(body, key);
    expect([repeated.status, repeated.json]).toEqual([200, { ...first, license: { ...first.license, id } }]);
  });

  test('never gets the key of a license that was imported with it and has another key since', async () => {
    const [body, key] = [newRequest(), randomUUID()];
    const { license } = (await issueLicense(body, key)).json;
    const id = uuidv7();
    await service.sql('update license set id = $2 where id = $1', [license.id, id]);
    expect((await admin.post(`licenses/${id}/rekey`, { reason: 'It leaked.' })).status).toBe(202);
    expect(seen(await issueLicense(body, key))).toEqual([422, 'idempotency_key_reused', id]);
    expect(await issued(body.email)).toEqual([{ id, events: 0 }]);
  });

  test('of an erased license is answered with 422, and the address is not stored again', async () => {
    const [body, key] = [newRequest(), randomUUID()];
    const { id } = (await issueLicense(body, key)).json.license;
    await service.sql('update license set email = null, ended_at = $2 where id = $1', [id, NOW]);
    expect(seen(await issueLicense(body, key))).toEqual([422, 'idempotency_key_reused', id]);
    expect(await issued(body.email)).toEqual([]);
  });
});

test('the same idempotency key of another admin, another key, an empty one or none issues another license', async () => {
  const body = newRequest();
  const other = await signInStaff(service, 'admin', 'other@example.com');
  const answers = [
    await issueLicense(body, 'k'),
    await issueLicense(body, 'k', other),
    await issueLicense(body, 'K'),
    await issueLicense(body, ''),
    await issueLicense(body, ''),
    await admin.post('licenses', body),
    await admin.post('licenses', body),
  ];
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
  expect(new Set(answers.map(({ json }) => json.license_key)).size).toBe(7);
});

test('the id of the license is derived from the idempotency key, which is stored and logged nowhere', async () => {
  const [body, key] = [newRequest(), `order of ${randomUUID()}`];
  const { license } = (await issueLicense(body, key)).json;
  const [staff] = await service.sql<{ id: string }>("select id from staff where email = 'admin@example.com'");
  expect(license.id).toBe(service.app.get(LicenseKeys).issuedLicenseId(staff!.id, key));
  const rows = await everyRow(service.database);
  expect([...rows, ...service.logged].filter((text) => text.includes(key))).toEqual([]);
});
