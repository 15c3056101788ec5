import { beforeEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import { NOW, Service } from '../support/harness.js';
import { unseenResponses } from '../support/http/openapi.js';
import { lastAuditEvent, signInStaff } from './harness.js';
import { JobWatch } from '../mail/harness.js';
import { OpenTransaction } from '../support/open-transaction.js';
import { expectFailures } from '../support/tables.js';

const service = await Service.start();
const jobs = await JobWatch.on(service.databaseUrl);
const admin = await signInStaff(service, 'admin');
const support = await signInStaff(service, 'support');
beforeEach(() => service.clock.set(NOW));

const issueLicense = (body: unknown) => admin.post('licenses', body);
const readLicense = async (id: string) => (await support.get(`licenses/${id}`)).json.license;
const changeLicense = (id: string, body: object) =>
  admin.call('PATCH', `licenses/${id}`, { reason: 'Asked by phone.', ...body });

/** Invalid terms of a license, each with the pointer of its error. */
const invalidTerms: [string, object, string][] = [
  ['no machine', { machines_allowed: 0 }, '/machines_allowed'],
  ['more than the maximum of machines', { machines_allowed: 100_001 }, '/machines_allowed'],
  ['a fraction of a machine', { machines_allowed: 1.5 }, '/machines_allowed'],
  ['machines as text', { machines_allowed: '2' }, '/machines_allowed'],
  ['machines that are null', { machines_allowed: null }, '/machines_allowed'],
  ['an expiry that is not a day of the calendar', { expires_at: '2027-02-30' }, '/expires_at'],
  ['an expiry as a number', { expires_at: 1_798_761_600 }, '/expires_at'],
  ['an empty expiry', { expires_at: '' }, '/expires_at'],
  ['another on_expiry', { on_expiry: 'end' }, '/on_expiry'],
  ['an on_expiry that is null', { on_expiry: null }, '/on_expiry'],
  ['an invalid e-mail', { email: 'ada' }, '/email'],
  ['an e-mail that is null', { email: null }, '/email'],
];

describe('issuing', () => {
  test('creates a license with the default terms, returns its key once, and is recorded in the audit trail', async () => {
    const { status, json } = await issueLicense({ email: ' New@Example.com ' });
    expect(status).toBe(201);
    const { license, license_key } = json;
    expect(license).toEqual({
      id: expect.any(String),
      key_hint: license_key.slice(-2),
      email: 'new@example.com',
      is_address_lost: false,
      previous_key_hint: null,
      status: 'active',
      expires_at: null,
      on_expiry: 'keep',
      machines_allowed: 1,
      machines_in_use: 0,
      created_at: NOW,
      activations: [],
    });
    expect((await service.activate({ license_key, email: 'new@example.com' })).status).toBe(201);
    expect(await lastAuditEvent(service)).toEqual({
      actor: 'admin@example.com',
      action: 'license.issue',
      license_id: license.id,
      reason: null,
      change: { machines_allowed: 1, expires_at: null, on_expiry: 'keep' },
    });
    expect(JSON.stringify(await readLicense(license.id))).not.toContain(license_key);
  });

  test('repeated with the same idempotency key returns the license and the key of the first request, and issues nothing', async () => {
    const body = { email: 'repeated@example.com', machines_allowed: 2 };
    const issue = () => admin.call('POST', 'licenses', body, { 'idempotency-key': 'order-1' });
    const first = await issue();
    expect(first.status).toBe(201);
    const { license, license_key } = first.json;
    service.clock.advance(60_000);
    const repeated = await issue();
    expect([repeated.status, repeated.json]).toEqual([200, first.json]);
    const issued = `select l.id, (select count(*)::int from audit_event where license_id = l.id) as events
      from license l where email = $1`;
    expect(await service.sql(issued, [body.email])).toEqual([{ id: license.id, events: 1 }]);
    expect((await service.activate({ license_key, email: body.email })).status).toBe(201);
    const used = await issue();
    expect([used.json.license_key, used.json.license.machines_in_use]).toEqual([license_key, 1]);
  });

  test('accepts each of its terms', async () => {
    const terms = { machines_allowed: 100_000, expires_at: '2027-05-01', on_expiry: 'stop' };
    const { license } = (await issueLicense({ email: 'terms@example.com', ...terms })).json;
    expect(license).toMatchObject({ ...terms, expires_at: '2027-05-01T00:00:00Z' });
    const never = await issueLicense({ email: 'terms@example.com', expires_at: null });
    expect(never.json.license.expires_at).toBeNull();
  });

  test.each([['no e-mail', { email: undefined }, '/email'] as const, ...invalidTerms])(
    'answers 422 to %s, and issues no license',
    async (_what, body, pointer) => {
      const count = () => service.sql('select count(*)::int as n from license');
      const before = await count();
      const { status, json } = await issueLicense({ email: 'ada@example.com', ...body });
      expect([status, json.errors.map((each: { pointer: string }) => each.pointer)]).toEqual([
        422,
        [pointer],
      ]);
      expect(await count()).toEqual(before);
    },
  );
});

describe('a license', () => {
  test('is shown with its purchase, its release requests, and its history, newest first', async () => {
    const sold = await service.app
      .get(PurchasesService)
      .record({ transaction_id: 'tx_1', email: 'buyer@example.com', status: 'paid' });
    const id = sold.license_id!;
    await changeLicense(id, { machines_allowed: 2 });
    await changeLicense(id, { status: 'suspended', reason: 'Odd payment.' });
    expect(await readLicense(id)).toMatchObject({
      id,
      email: 'buyer@example.com',
      status: 'suspended',
      staff_status: 'suspended',
      machines_allowed: 2,
      purchase: { transaction_id: 'tx_1', state: 'paid', recorded_on: '2026-11-20' },
      release_requests: [],
      history: [
        {
          actor: 'admin@example.com',
          action: 'license.set',
          reason: 'Odd payment.',
          change: { staff_status: 'suspended' },
        },
        { action: 'license.set', reason: 'Asked by phone.', change: { machines_allowed: 2 } },
      ],
    });
  });

  test('that was issued has no purchase; a license with a disputed purchase shows the dispute and the status set by staff', async () => {
    const { license_id } = await service.issue();
    expect(await readLicense(license_id)).toMatchObject({
      purchase: null,
      staff_status: 'active',
      status: 'active',
    });
    const purchases = service.app.get(PurchasesService);
    await purchases.record({ transaction_id: 'tx_2', email: 'b@example.com', status: 'paid' });
    const { license_id: id } = await purchases.record({ transaction_id: 'tx_2', status: 'disputed' });
    expect(await readLicense(id!)).toMatchObject({
      status: 'suspended',
      staff_status: 'active',
      purchase: { state: 'disputed' },
    });
  });

  test.each([
    ['a change', "staff_status = 'suspended', machines_allowed = 7"],
    ['a new key', "key_hint = 'ZZ', key_generation = 2"],
  ])(
    'that gets %s while it is read is shown as before, with the revision of what is shown',
    async (_what, change) => {
      const { license_id } = await service.issue();
      const before = await readLicense(license_id);
      const transaction = await OpenTransaction.begin(
        service,
        'lock table activation in access exclusive mode',
      );
      const reading = readLicense(license_id);
      await transaction.untilWaiting(reading);
      await transaction.query(`update license set ${change} where id = $1`, [license_id]);
      await transaction.commit();
      const shown = await reading;
      // The history is not compared: its entries have the key hint that the license has when the history is read.
      expect(shown).toEqual({ ...before, history: expect.any(Array) });
      const stale = { 'if-match': `"${shown.revision}"` };
      const rekeyed = await admin.call(
        'POST',
        `licenses/${license_id}/rekey`,
        { reason: 'It leaked.' },
        stale,
      );
      expect([rekeyed.status, rekeyed.json?.code]).toEqual([412, 'license_changed']);
    },
  );

  test('that was erased is shown without an address, and can be found by its ids', async () => {
    const license = await service.issue({ email: 'gone@example.com' });
    const { id } = (await service.activate(license)).json.activation;
    await service.sql('update license set email = null, ended_at = now() where id = $1', [
      license.license_id,
    ]);
    expect((await readLicense(license.license_id)).email).toBeNull();
    const { licenses } = (await support.post('licenses/search', { activation_id: id })).json;
    expect(licenses).toMatchObject([{ id: license.license_id, email: null }]);
    const refused = await changeLicense(license.license_id, { email: 'back@example.com' });
    expect([refused.status, refused.json.code]).toEqual([409, 'license_erased']);
  });

  test('is shown with at most the newest 500 entries of its history', async () => {
    const { license_id } = await service.issue();
    await service.sql(
      `insert into audit_event (id, actor, action, license_id, change, at)
       select ('01980000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'test', 'license.set', $1,
         jsonb_build_object('n', n), timestamptz '2026-11-20T13:00:00Z' + n * interval '1 minute' from generate_series(1, 600) n`,
      [license_id],
    );
    const { history } = await readLicense(license_id);
    expect(history).toHaveLength(500);
    expect([history[0].change.n, history[499].change.n]).toEqual([600, 101]);
  });

  test.each(['x', randomUUID(), '%00', `${randomUUID()}0`])(
    'with the unknown or invalid id %s is answered with 404 on every route',
    async (id) => {
      for (const answer of [
        await support.get(`licenses/${id}`),
        await support.get(`licenses/${id}/holder`),
        await changeLicense(id, { machines_allowed: 2 }),
        await admin.post(`licenses/${id}/rekey`, { reason: 'It leaked.' }),
        await support.post(`licenses/${id}/send-key`, {}),
      ]) {
        expect([answer.status, answer.json.code]).toEqual([404, 'not_found']);
      }
    },
  );
});

describe('changing', () => {
  test.each<[object, object, object]>([
    [
      { machines_allowed: 3 },
      { machines_allowed: 3 },
      { machines_allowed: 3, before: { machines_allowed: 1 } },
    ],
    [
      { expires_at: '2027-01-04T10:00:00+02:00' },
      { expires_at: '2027-01-04T08:00:00Z' },
      { expires_at: '2027-01-04T08:00:00.000Z', before: { expires_at: null } },
    ],
    [{ on_expiry: 'stop' }, { on_expiry: 'stop' }, { on_expiry: 'stop', before: { on_expiry: 'keep' } }],
    [
      { status: 'revoked' },
      { status: 'revoked', staff_status: 'revoked' },
      { staff_status: 'revoked', before: { staff_status: 'active' } },
    ],
    [
      { status: 'suspended' },
      { status: 'suspended', staff_status: 'suspended' },
      { staff_status: 'suspended', before: { staff_status: 'active' } },
    ],
  ])(
    'accepts %j, returns the changed license, and is recorded in the audit trail',
    async (body, shown, recorded) => {
      const { license_id } = await service.issue();
      const { status, json } = await changeLicense(license_id, body);
      expect([status, json.license]).toEqual([200, await readLicense(license_id)]);
      expect(json.license).toMatchObject(shown);
      expect(await lastAuditEvent(service)).toEqual({
        actor: 'admin@example.com',
        action: 'license.set',
        license_id,
        reason: 'Asked by phone.',
        change: recorded,
      });
    },
  );

  test('is refused if it is based on a revision that another change has replaced', async () => {
    const license = await service.issue();
    const { license_id } = license;
    const { revision } = await readLicense(license_id);
    const changeRevision = (etag: string, machines_allowed: number) =>
      admin.call(
        'PATCH',
        `licenses/${license_id}`,
        { reason: 'Grew.', machines_allowed },
        { 'if-match': etag },
      );
    expect((await changeRevision(`"${revision}"`, 2)).status).toBe(200);
    const refused = await changeRevision(`"${revision}"`, 3);
    expect([refused.status, refused.json.code]).toEqual([412, 'license_changed']);
    expect(await readLicense(license_id)).toMatchObject({ machines_allowed: 2 });
    expect((await changeRevision('*', 4)).status).toBe(200);
    // A change back restores the revision; an activation does not change it.
    await changeRevision('*', 1);
    await service.activate(license);
    expect((await readLicense(license_id)).revision).toBe(revision);
  });

  test('the expiry to null removes it, and does not change members that are not sent', async () => {
    const { license } = (
      await issueLicense({ email: 'e@example.com', expires_at: '2027-01-01', machines_allowed: 4 })
    ).json;
    expect((await changeLicense(license.id, { expires_at: null })).json.license).toMatchObject({
      expires_at: null,
      machines_allowed: 4,
    });
  });

  test('the e-mail address sends a mail to both addresses, and the audit event has neither address', async () => {
    const { license_id } = await service.issue({ email: 'old@example.com' });
    expect((await changeLicense(license_id, { email: ' Next@Example.com' })).json.license.email).toBe(
      'next@example.com',
    );
    expect(await jobs.untilDone('email_changed', license_id, 2)).toHaveLength(2);
    expect((await lastAuditEvent(service)).change).toEqual({ email: 'changed' });
  });

  test.each([...invalidTerms, ['another status', { status: 'refunded' }, '/status'] as const])(
    'answers 422 to %s, and changes nothing',
    async (_what, body, pointer) => {
      const { license_id } = await service.issue();
      const before = await readLicense(license_id);
      const { status, json } = await changeLicense(license_id, body);
      expect([status, json.errors.map((each: { pointer: string }) => each.pointer)]).toEqual([
        422,
        [pointer],
      ]);
      expect(await readLicense(license_id)).toEqual(before);
    },
  );

  test('answers 422 to a request without a change, and 422 at /reason without a reason', async () => {
    const { license_id } = await service.issue();
    const none = await changeLicense(license_id, {});
    expect(none.status).toBe(422);
    expect(none.json.errors.map((each: { pointer: string }) => each.pointer)).toEqual([
      '/machines_allowed',
      '/expires_at',
      '/status',
      '/on_expiry',
      '/email',
    ]);
    for (const reason of [undefined, null, '', 'x'.repeat(501), 'asked by ada@example.com']) {
      const { status, json } = await changeLicense(license_id, { machines_allowed: 2, reason });
      expect([status, json.errors[0].pointer]).toEqual([422, '/reason']);
    }
  });
});

describe('the key of a license', () => {
  test('can be mailed again by either role, with a reason or without a body', async () => {
    for (const browser of [support, admin]) {
      const { license_id } = await service.issue();
      const { status, text } = await browser.post(`licenses/${license_id}/send-key`);
      expect([status, text]).toEqual([202, '']);
      await jobs.untilDone('license_key_again', license_id);
    }
    const { license_id } = await service.issue();
    expect((await support.post(`licenses/${license_id}/send-key`, { reason: 'Lost it.' })).status).toBe(202);
    expect(await lastAuditEvent(service)).toEqual({
      actor: 'support@example.com',
      action: 'license.send_key',
      license_id,
      reason: 'Lost it.',
      change: {},
    });
    const wrong = await support.post(`licenses/${license_id}/send-key`, { reason: 7 });
    expect([wrong.status, wrong.json.errors[0].pointer]).toEqual([422, '/reason']);
  });

  test('is not replaced if the request is based on a revision before another new key', async () => {
    const { license_id } = await service.issue();
    const { revision } = await readLicense(license_id);
    const rekey = (etag: string) =>
      admin.call('POST', `licenses/${license_id}/rekey`, { reason: 'It leaked.' }, { 'if-match': etag });
    expect((await rekey(`"${revision}"`)).status).toBe(202);
    const refused = await rekey(`"${revision}"`);
    expect([refused.status, refused.json.code]).toEqual([412, 'license_changed']);
    const generation = () => service.sql('select key_generation from license where id = $1', [license_id]);
    expect(await generation()).toEqual([{ key_generation: 2 }]);
    expect((await rekey(`"${(await readLicense(license_id)).revision}"`)).status).toBe(202);
    expect((await rekey('*')).status).toBe(202);
    expect(await generation()).toEqual([{ key_generation: 4 }]);
  });

  test('can be replaced, which mails and does not return the new key, and the old one is refused', async () => {
    const license = await service.issue({ machines_allowed: 2 });
    const { token } = (await service.activate(license, 'one')).json;
    const { status, text } = await admin.post(`licenses/${license.license_id}/rekey`, {
      reason: 'It leaked.',
    });
    expect([status, text]).toEqual([202, '']);
    expect(await lastAuditEvent(service)).toMatchObject({
      action: 'license.rekey',
      reason: 'It leaked.',
      change: {
        key_generation: 2,
        before: { key_hint: license.license_key.slice(-2), key_generation: 1 },
      },
    });
    await jobs.untilDone('license_key_replaced', license.license_id);
    expect((await service.activate(license, 'two')).json.code).toBe('license_not_found');
    expect((await service.heartbeat(token)).status).toBe(200);
    const withoutReason = await admin.post(`licenses/${license.license_id}/rekey`, {});
    expect([withoutReason.status, withoutReason.json.errors[0].pointer]).toEqual([422, '/reason']);
  });

  test('is neither mailed nor replaced after a refund: both requests are answered with 409', async () => {
    const purchases = service.app.get(PurchasesService);
    await purchases.record({ transaction_id: 'tx_3', email: 'r@example.com', status: 'paid' });
    const { license_id } = await purchases.record({ transaction_id: 'tx_3', status: 'refunded' });
    expect(await readLicense(license_id!)).toMatchObject({ is_key_mailable: false });
    for (const answer of [
      await support.post(`licenses/${license_id}/send-key`),
      await admin.post(`licenses/${license_id}/rekey`, { reason: 'It leaked.' }),
    ]) {
      expect([answer.status, answer.json]).toEqual([
        409,
        expect.objectContaining({ code: 'key_not_mailable', reason: 'refunded' }),
      ]);
    }
  });
});

test('a response says whether the key can be mailed: not if the service cannot derive it', async () => {
  const { license_id } = await service.issue();
  expect(await readLicense(license_id)).toMatchObject({ is_key_mailable: true });
  // With this hash the license is like an imported one.
  await service.sql("update license set key_hash = decode(repeat('ac', 32), 'hex') where id = $1", [
    license_id,
  ]);
  expect(await readLicense(license_id)).toMatchObject({ is_key_mailable: false });
});

test('a change is answered with 500 if a table is missing and with 503 if it is locked, and changes nothing', async () => {
  const { license_id } = await service.issue();
  const before = await readLicense(license_id);
  const change = () => changeLicense(license_id, { machines_allowed: 9 });
  await expectFailures(service, 'audit_event', change, 'license');
  expect(await readLicense(license_id)).toEqual(before);
});

test('a body that is malformed, too large or of another type is refused', async () => {
  const { license_id } = await service.issue();
  const big = JSON.stringify({ more: 'x'.repeat(20_000) });
  for (const [method, path] of [
    ['POST', 'licenses'],
    ['PATCH', `licenses/${license_id}`],
    ['POST', `licenses/${license_id}/send-key`],
    ['POST', `licenses/${license_id}/rekey`],
  ]) {
    expect((await admin.call(method!, path!, '{')).status).toBe(400);
    expect((await admin.call(method!, path!, big)).status).toBe(413);
    expect((await admin.call(method!, path!, '{}', { 'content-type': 'text/plain' })).status).toBe(415);
  }
});

test('the tests of this file have received every documented response except those that all routes have in common', () => {
  const unseen = unseenResponses(/ \/support\/api\/licenses( |\/\{id\}(?!\/holder))/);
  expect(unseen.filter((answer) => !/ (401|403|500|503)$/.test(answer))).toEqual([]);
});
