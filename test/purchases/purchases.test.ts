import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Service } from '../support/harness.js';
import {
  buyerOf,
  end,
  mails,
  PURCHASES_PATH,
  report,
  sendReport,
  signatureHeaders,
  readPurchase,
  PURCHASE_SETTINGS,
} from '../support/http/webhook.js';
import { comparableRows } from '../support/tables.js';

const service = await Service.start({ environment: PURCHASE_SETTINGS });
afterAll(() => end(service));

const mailsTo = async (email: string) => (await mails(service)).filter(({ to }) => to === email);

describe('a paid report', () => {
  test('creates one license, and mails the buyer a key that activates with their address', async () => {
    service.clock.set('2026-11-20T23:59:59Z');
    const { status, text } = await report(service, {
      transaction_id: 'pi_3QWErTyUiOp',
      email: ' Ada.Lovelace@Example.COM ',
      status: 'paid',
    });
    expect([status, text]).toEqual([204, '']);
    const [mail, ...more] = await mailsTo('ada.lovelace@example.com');
    expect(more).toEqual([]);
    expect(mail!.subject).toBe('Your license key for com.example.app');
    const { status: activated, json } = await service.activate({
      license_key: mail!.license_key!,
      email: 'ada.lovelace@example.com',
    });
    expect([activated, json.license]).toEqual([
      201,
      { status: 'active', expires_at: null, machines_allowed: 1, machines_in_use: 1 },
    ]);
    expect(await service.sql('select count(*)::int as licenses from license')).toEqual([{ licenses: 1 }]);
  });

  test('stores the transaction id, the address, the status and the day, and nothing else', async () => {
    service.clock.set('2026-11-20T23:59:59Z');
    await sendReport(service, 'the-facts', 'paid');
    const rows = await service.sql(
      "select to_jsonb(p) - 'id' as facts from purchase p where transaction_id = 'the-facts'",
    );
    const facts = { transaction_id: 'the-facts', email: buyerOf('the-facts'), state: 'paid', paid: true };
    expect(rows).toEqual([{ facts: { ...facts, recorded_on: '2026-11-20' } }]);
    const columns = await service.sql(
      "select column_name as name, data_type as type from information_schema.columns where table_name = 'purchase'",
    );
    expect(columns.filter(({ name }) => name === 'recorded_on')).toEqual([
      { name: 'recorded_on', type: 'date' },
    ]);
    expect(columns.filter(({ type }) => /time/.test(String(type)))).toEqual([]);
  });

  test('keeps the day of the first report', async () => {
    service.clock.set('2026-11-20T23:59:59Z');
    await sendReport(service, 'the-day', 'disputed');
    service.clock.set('2026-11-21T00:00:00Z');
    await sendReport(service, 'the-day', 'paid');
    expect(
      await service.sql("select recorded_on::text as day from purchase where transaction_id = 'the-day'"),
    ).toEqual([{ day: '2026-11-20' }]);
  });

  test('creates a license for each of two transactions of one buyer', async () => {
    for (const transaction_id of ['first-of-two', 'second-of-two'])
      await report(service, { transaction_id, email: 'grace@buyer.example', status: 'paid' });
    const keys = (await mailsTo('grace@buyer.example')).map(({ license_key }) => license_key);
    const licenses = [
      await readPurchase(service, 'first-of-two'),
      await readPurchase(service, 'second-of-two'),
    ];
    expect(keys.toSorted()).toEqual(licenses.map((license) => license!.license_key).toSorted());
    expect(new Set(keys).size).toBe(2);
  });

  test('creates the license with the defaults of the settings', async () => {
    const configured = await Service.start({
      environment: {
        ...PURCHASE_SETTINGS,
        DEFAULT_MACHINES_PER_LICENSE: '3',
        DEFAULT_ON_EXPIRY: 'stop',
        LICENSE_KEY_PREFIX: 'DARK',
      },
    });
    await sendReport(configured, 'with-settings', 'paid');
    const { license_key } = (await readPurchase(configured, 'with-settings'))!;
    expect(license_key).toMatch(/^DARK_/);
    expect(await configured.sql('select machines_allowed, on_expiry, expires_at from license')).toEqual([
      { machines_allowed: 3, on_expiry: 'stop', expires_at: null },
    ]);
    expect((await mails(configured))[0]!.text).toContain(license_key);
    await end(configured);
  });

  test('records the purchase, the license and the mail in one transaction', async () => {
    await mails(service);
    const before = await comparableRows(service.database);
    await service.sql(
      'alter table graphile_worker._private_jobs add constraint no_new_job check (false) not valid',
    );
    const { status, json } = await sendReport(service, 'whole', 'paid');
    await service.sql('alter table graphile_worker._private_jobs drop constraint no_new_job');
    expect([status, json.client_action]).toEqual([500, 'retry']);
    expect(await comparableRows(service.database)).toEqual(before);
    await sendReport(service, 'whole', 'paid');
    expect(await mailsTo(buyerOf('whole'))).toHaveLength(1);
  });
});

describe('a report', () => {
  const valid = { transaction_id: 'bad-members', email: 'ada@example.com', status: 'paid' };

  async function invalidMembers(body: unknown): Promise<string[]> {
    const before = await comparableRows(service.database);
    const { status, json } = await report(service, body);
    expect([status, json.code]).toEqual([422, 'invalid_request']);
    expect(await comparableRows(service.database)).toEqual(before);
    return (json.errors as { pointer: string }[]).map(({ pointer }) => pointer);
  }

  beforeAll(() => mails(service));

  test.each([
    ['transaction_id', [undefined, null, '', ' ', 1, true, [], {}, ['a'], 'a b', 'a\tb', 'a\nb', '\u00a0a']],
    ['transaction_id', ['\0', 'a\0', '\ud800', 'a\udc00b', 'x'.repeat(201), '\u0085']],
    ['status', [undefined, null, '', 'PAID', ' paid', 'lost', 'refund', 0, true, [], ['paid'], {}]],
    ['status', ['__proto__', 'constructor', 'toString', 'paid\0', '\ud800']],
    ['email', [undefined, null, '', ' ', 'ada', 'ada@', '@example.com', 1, [], ['ada@example.com'], {}]],
    ['email', ['a@b@c', 'a b@example.com', 'a@example.com\r\nBcc: eve@example.com', 'a\0@b', '\ud800@b']],
    ['email', [`${'a'.repeat(243)}@example.com`]],
  ])('with an invalid %s is refused and not recorded (%#)', async (name, values) => {
    for (const value of values)
      expect(await invalidMembers({ ...valid, [name]: value })).toEqual([`/${name}`]);
  });

  test('with the status paid and without an address is refused, and the detail says that paid needs one', async () => {
    const { json } = await report(service, { transaction_id: 'no-address', status: 'paid' });
    const detail = 'must be an e-mail address; it is required with the status `paid`';
    expect(json.errors).toEqual([{ pointer: '/email', detail }]);
  });

  test('is refused with a pointer to each invalid member; the address is checked only with the status paid', async () => {
    const pointers = await invalidMembers({ transaction_id: 1, status: 'paid' });
    expect(pointers.toSorted()).toEqual(['/email', '/transaction_id']);
    expect((await invalidMembers({ email: 'no address' })).toSorted()).toEqual([
      '/status',
      '/transaction_id',
    ]);
  });

  test.each(['disputed', 'dispute_won', 'refunded'])(
    'with the status %s needs no address, and a given one is not stored',
    async (status) => {
      for (const [at, email] of [undefined, null, '', 'no address', 7, {}, 'eve@example.com'].entries()) {
        const transaction_id = `${status}-${at}`;
        expect((await report(service, { transaction_id, status, email })).status).toBe(204);
        const rows = await service.sql('select email, state from purchase where transaction_id = $1', [
          transaction_id,
        ]);
        expect(rows).toEqual([{ email: null, state: status }]);
      }
    },
  );

  test('may have an id of 200 characters, and an id with quotes, slashes or letters beyond ASCII', async () => {
    for (const transaction_id of [
      'x'.repeat(200),
      '😀'.repeat(200),
      "';drop/**/table/**/purchase;--",
      'Käufer/№:1',
      '__proto__',
    ]) {
      expect((await report(service, { ...valid, transaction_id })).status).toBe(204);
      expect((await readPurchase(service, transaction_id))!.state).toBe('paid');
    }
  });

  test('may have any other members, which are ignored', async () => {
    const body = `{"id":"evt_1","type":"checkout.completed","__proto__":{"status":"refunded"},"paid":false,
      "state":"refunded","data":{"status":"refunded","transaction_id":7},"status":"paid","constructor":null,
      "transaction_id":"among-others","email":"among@buyer.example","a":${'['.repeat(9_000)}${']'.repeat(9_000)}}`;
    expect((await report(service, body)).status).toBe(204);
    expect(await readPurchase(service, 'among-others')).toMatchObject({
      state: 'paid',
      email: 'among@buyer.example',
    });
  });
});

test('without PURCHASE_WEBHOOK_SECRET the route answers 404 to every request', async () => {
  const withoutSecret = await Service.start();
  const unknownRoute = (await withoutSecret.call('POST', '/v1/nowhere', {})).json;
  const body = JSON.stringify({ transaction_id: 'unsigned', email: 'ada@example.com', status: 'paid' });
  for (const sent of [body, '{}', '{', '[]', '']) {
    for (const headers of [{}, signatureHeaders(sent), signatureHeaders(sent, { secret: '' })]) {
      const { status, json } = await withoutSecret.call('POST', PURCHASES_PATH, sent, headers);
      expect([status, { ...json, request_id: '' }]).toEqual([404, { ...unknownRoute, request_id: '' }]);
    }
  }
  expect(await withoutSecret.sql('select from purchase')).toEqual([]);
  await withoutSecret.close();
});
