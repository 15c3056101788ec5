import { writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import { erase, staffHeaders } from '../erasure/harness.js';
import { Browser } from '../license-portal/harness.js';
import { AUDIT_CONTEXT, createDatabase, Service } from '../support/harness.js';
import { Terminal } from '../support/processes/cli-harness.js';
import { query } from '../support/databases/replica-harness.js';

const service = await Service.start();
const terminal = Terminal.beside(service);

let files = 0;
interface Imported {
  readonly key: string;
  readonly email: string;
  readonly transaction?: string;
  readonly status?: string;
}

const importLicenses = (...licenses: Imported[]) => importAt(terminal, ...licenses);

/** Imports licenses. @returns the report */
async function importAt(terminal: Terminal, ...licenses: Imported[]) {
  const name = `${(files += 1)}.csv`;
  const lines = licenses.map(({ key, email, transaction = '', status = '' }) =>
    [key, email, transaction, status].join(),
  );
  writeFileSync(terminal.file(name), ['key,email,order,status', ...lines].join('\n'));
  const maps = ['key=previous_key', 'email=email', 'order=transaction_id', 'status=status'];
  const run = await terminal.run([
    'license',
    'import',
    name,
    ...maps.flatMap((map) => ['--map', map]),
    '--json',
  ]);
  return run.json as {
    imported: number;
    linked: number;
    already_imported: number;
    /** Purchases whose state the import changed, for example to refunded. */
    raised_purchases: number;
    refused_rows: unknown[];
  };
}

const signIn = (email: string, license_key: string) =>
  new Browser(service).call('POST', '/session', { email, license_key });
const idsOf = async (email: string) =>
  (await service.sql<{ id: string }>('select id from license where email = $1 order by id', [email])).map(
    ({ id }) => id,
  );
const licenses = () => service.app.get(LicensesService);
const purchases = () => service.app.get(PurchasesService);

test('before an import, a text that is no license key is refused as such; afterwards it may be a previous key', async () => {
  const old = 'F00D-CAFE-0001-AB';
  expect((await signIn('ada@example.com', old)).json).toMatchObject({
    code: 'invalid_request',
    errors: [{ pointer: '/license_key', detail: 'must have the shape PREFIX_XXXX-XXXX-XXXX-XXXX' }],
  });
  expect(await importLicenses({ key: old, email: 'first@example.com' })).toMatchObject({ imported: 1 });
  expect((await signIn('ada@example.com', old)).json).toMatchObject({ code: 'license_not_found' });
  expect((await signIn('first@example.com', 'F00D-CAFE-0002-AB')).json).toMatchObject({
    code: 'license_not_found',
  });
  expect((await signIn('first@example.com', 'short')).json).toMatchObject({ code: 'invalid_request' });
});

describe('an imported license', () => {
  const key = '80e15db5-c796-436b-850c-8f9c98a48abe';
  const email = 'holder@example.com';
  beforeAll(() => importLicenses({ key, email }));

  test.each([key, key.toUpperCase(), ` ${key.replaceAll('-', ' ')} `, `“${key}”`])(
    'is opened in the portal by its previous key, as people type it: %s',
    async (typed) => {
      const holder = await new Browser(service).signInByKey({
        email: 'Holder@Example.com',
        license_key: typed,
      });
      const { json } = await holder.call('GET', '/session');
      expect(json).toMatchObject({
        signed_in_by: 'key',
        licenses: [{ id: (await idsOf(email))[0], is_key_mailable: true }],
      });
    },
  );

  test('is found by staff and by license show under its previous key', async () => {
    const [id] = await idsOf(email);
    const headers = await staffHeaders(service, 'support');
    const search = await service.call('POST', '/support/api/licenses/search', { license_key: key }, headers);
    expect(search.json.licenses).toMatchObject([{ id, email, previous_key_hint: '8ABE' }]);
    expect(await terminal.json(['license', 'show', key.toUpperCase()])).toMatchObject({
      license_id: id,
      previous_key_hint: '8ABE',
    });
    const { stdout } = await terminal.run(['license', 'show', key]);
    expect(stdout).toMatch(/^Replaces +the key ending in 8ABE$/m);
  });

  test('is not activated by its previous key, and is activated by the new one', async () => {
    const license = { email, license_key: key };
    expect((await service.activate(license, 'machine')).json).toMatchObject({ code: 'invalid_request' });
    const [id] = await idsOf(email);
    const license_key = await licenses().currentKey(id!);
    expect((await service.activate({ email, license_key: license_key! }, 'machine')).status).toBe(201);
  });

  test('is not opened by its previous key any more after its new key was replaced', async () => {
    const [id] = await idsOf(email);
    await licenses().rekey(id!, AUDIT_CONTEXT);
    expect((await signIn(email, key)).json).toMatchObject({ code: 'license_not_found' });
    expect(await terminal.json(['license', 'show', key])).toMatchObject({ license_id: id });
  });
});

describe('the refund of an old transaction', () => {
  test('ends each of its licenses', async () => {
    const email = 'two@example.com';
    await importLicenses(
      { key: 'TWO-KEYS-0001', email, transaction: 'order-2' },
      { key: 'TWO-KEYS-0002', email, transaction: 'order-2' },
    );
    const ids = await idsOf(email);
    const { json } = await terminal.run([
      'purchase',
      'record',
      '--transaction',
      'order-2',
      '--status',
      'refunded',
      '--json',
    ]);
    expect(json).toEqual({
      transaction_id: 'order-2',
      state: 'refunded',
      license_id: ids[0],
      license_ids: ids,
    });
    for (const id of ids)
      expect(await terminal.json(['license', 'show', id])).toMatchObject({ status: 'refunded' });
    const ended = await service.sql(
      'select id from license where email = $1 and ended_at is not null order by id',
      [email],
    );
    expect(ended).toEqual(ids.map((id) => ({ id })));
    expect(
      await service.sql(
        "select license_id from audit_event where action = 'purchase.record' order by license_id",
      ),
    ).toEqual(ids.map((license_id) => ({ license_id })));
  });

  test('in a newer export ends the imported license', async () => {
    const license = { key: 'LATE-REFUND-1', email: 'late@example.com', transaction: 'order-late' };
    await importLicenses(license);
    const report = await importLicenses({ ...license, status: 'refunded' });
    expect(report).toMatchObject({ imported: 0, already_imported: 1, raised_purchases: 1 });
    expect(await terminal.json(['license', 'show', 'order-late'])).toMatchObject({ status: 'refunded' });
  });
});

describe('a transaction that the processor reports and that is imported', () => {
  test('keeps the license of an earlier report, which gets the previous key and no further mail', async () => {
    const email = 'both@example.com';
    const { license_id } = await purchases().record({ transaction_id: 'both', status: 'paid', email });
    expect(await importLicenses({ key: 'BOTH-0001-ABCD', email, transaction: 'both' })).toMatchObject({
      imported: 0,
      linked: 1,
      mails: 0,
    });
    expect(await idsOf(email)).toEqual([license_id]);
    expect((await signIn(email, 'both 0001 abcd')).status).toBe(204);
    expect(await importLicenses({ key: 'BOTH-0001-ABCD', email, transaction: 'both' })).toMatchObject({
      already_imported: 1,
    });
  });

  test.each(['before', 'after'])(
    'has a license whose previous key finds it for staff, but does not sign in, if its license key was replaced %s the import',
    async (order) => {
      const [row, rekey] = [
        { key: `REKEYED-${order}-1`, email: `rekeyed-${order}@example.com`, transaction: `rekeyed-${order}` },
        (id: string) => licenses().rekey(id, AUDIT_CONTEXT),
      ];
      const { license_id } = await purchases().record({
        transaction_id: row.transaction,
        status: 'paid',
        email: row.email,
      });
      if (order === 'before') await rekey(license_id!);
      expect(await importLicenses(row)).toMatchObject({ linked: 1, mails: 0 });
      if (order === 'after') await rekey(license_id!);
      expect((await signIn(row.email, row.key)).json).toMatchObject({ code: 'license_not_found' });
      expect(await terminal.json(['license', 'show', row.key])).toMatchObject({ license_id });
    },
  );

  test('gets no second license if the first report is after the import', async () => {
    const email = 'again@example.com';
    await importLicenses({ key: 'AGAIN-0001-ABCD', email, transaction: 'again' });
    await purchases().record({ transaction_id: 'again', status: 'paid', email });
    expect(await idsOf(email)).toHaveLength(1);
  });

  test('has an ended license if the refund was reported before the import', async () => {
    await purchases().record({ transaction_id: 'ended', status: 'refunded' });
    await importLicenses({ key: 'ENDED-0001-ABCD', email: 'ended@example.com', transaction: 'ended' });
    expect(await terminal.json(['license', 'show', 'ended'])).toMatchObject({
      status: 'refunded',
      email: 'ended@example.com',
    });
  });

  test('is refused if the report had another address', async () => {
    await purchases().record({ transaction_id: 'other', status: 'paid', email: 'one@example.com' });
    const { refused_rows } = await importLicenses({
      key: 'OTHER-0001-ABCD',
      email: 'other@example.com',
      transaction: 'other',
    });
    expect(refused_rows).toEqual([
      { place: 'line 2', reason: 'a license of this transaction exists already, for another address' },
    ]);
  });
});

test('an erasure removes the previous key, and the same file does not bring the holder back', async () => {
  const email = 'erased@example.com';
  const rows = [
    { key: 'ERASED-0001-ABCD', email, transaction: 'erased' },
    { key: 'ERASED-0002-ABCD', email },
  ];
  await importLicenses(...rows);
  const ids = await idsOf(email);
  await erase(service, email);
  const columns = 'select previous_key_hash, previous_key_hint, email from license where id = any($1)';
  expect(await service.sql(columns, [ids])).toEqual(
    ids.map(() => ({ previous_key_hash: null, previous_key_hint: null, email: null })),
  );
  expect((await signIn(email, rows[0]!.key)).json).toMatchObject({ code: 'license_not_found' });
  expect(await importLicenses(...rows, { ...rows[0]!, key: 'ERASED-0003-ABCD' })).toMatchObject({
    imported: 0,
    already_imported: 2,
    refused_rows: [
      { place: 'line 4', reason: 'the holder of this license was erased, so it is not imported again' },
    ],
  });
  expect(await idsOf(email)).toEqual([]);
});

test('after an erasure, a repeated import of a row, now with a refunded transaction, does not store the address in the purchase', async () => {
  const email = 'unpaid@example.com';
  const row = { key: 'UNPAID-0001-ABCD', email };
  await importLicenses(row);
  await purchases().record({ transaction_id: 'unpaid', status: 'refunded' });
  await erase(service, email);
  expect(await importLicenses({ ...row, transaction: 'unpaid' })).toMatchObject({ already_imported: 1 });
  const sql = "select state, paid, email from purchase where transaction_id = 'unpaid'";
  expect(await service.sql(sql)).toEqual([{ state: 'refunded', paid: false, email: null }]);
});

test('a row is refused if all licenses of its transaction have other addresses: it may be that of another shop', async () => {
  const first = { key: 'SHOP-A-0001-ABCD', email: 'a@shops.example', transaction: '1001' };
  const second = { key: 'SHOP-B-0001-ABCD', email: 'b@shops.example', transaction: '1001' };
  await importLicenses(first);
  expect(await importLicenses(second, { ...first, key: 'SHOP-A-0002-ABCD' })).toMatchObject({
    imported: 1,
    refused_rows: [
      { place: 'line 2', reason: 'a license of this transaction exists already, for another address' },
    ],
  });
});

describe('a row whose imported license does not belong to the transaction of the row', () => {
  const NOT_REACHED =
    'this license is imported already, and the refund or dispute of this row does not change it: set its status';

  test.each([
    ['refunded', 'revoked'],
    ['disputed', 'suspended'],
  ])(
    'with the status %s changes no license of that transaction, and is refused until staff have set its own license to %s',
    async (status, own) => {
      const shopA = { key: `${status}-SHOP-A`, email: `a@${status}.example`, transaction: `${status}-1001` };
      const shopB = { key: `${status}-SHOP-B`, email: `b@${status}.example`, transaction: `${status}-1001` };
      await importLicenses(shopA);
      // With its transaction, which is also one of shop A, this row would be refused. So the operator has emptied the transaction.
      await importLicenses({ ...shopB, transaction: '' });
      const unchanged = { imported: 0, raised_purchases: 0 };
      expect(await importLicenses(shopA, shopB)).toMatchObject({
        ...unchanged,
        already_imported: 2,
        refused_rows: [],
      });
      for (const transaction of [shopB.transaction, ''])
        expect(await importLicenses(shopA, { ...shopB, transaction, status })).toMatchObject({
          ...unchanged,
          already_imported: 1,
          refused_rows: [{ place: 'line 3', reason: NOT_REACHED }],
        });
      for (const { key } of [shopA, shopB])
        expect(await terminal.json(['license', 'show', key])).toMatchObject({ status: 'active' });
      const [id] = await idsOf(shopB.email);
      await terminal.json(['license', 'set', id!, '--status', own, '--reason', status]);
      expect(await importLicenses({ ...shopB, status })).toMatchObject({ ...unchanged, refused_rows: [] });
      expect(await terminal.json(['license', 'show', shopA.key])).toMatchObject({ status: 'active' });
      expect(await importLicenses({ ...shopA, status })).toMatchObject({ raised_purchases: 1 });
      expect(await terminal.json(['license', 'show', shopA.key])).not.toMatchObject({ status: 'active' });
    },
  );

  test('is not refused if its holder was erased', async () => {
    const row = { key: 'ERASED-REFUND-1', email: 'erased-refund@example.com' };
    await importLicenses(row);
    await erase(service, row.email);
    const report = await importLicenses({ ...row, transaction: 'erased-refund', status: 'refunded' });
    expect(report).toMatchObject({ already_imported: 1, refused_rows: [] });
  });
});

test('a linked license, whose key its buyer has, gets no mail from license import --send', async () => {
  const email = 'linked@example.com';
  await purchases().record({ transaction_id: 'linked', status: 'paid', email });
  const toMail = async () => (await terminal.json(['license', 'import', '--send', '--dry-run']))['mails'];
  const before = await toMail();
  expect(await importLicenses({ key: 'LINKED-0001-ABCD', email, transaction: 'linked' })).toMatchObject({
    linked: 1,
  });
  expect(await toMail()).toBe(before);
});

test('a license that is active only after a won dispute gets the mail with its new key from license import --send', async () => {
  const toMail = async () => (await terminal.json(['license', 'import', '--send', '--dry-run']))['mails'];
  const before = await toMail();
  const disputed = { email: 'won@example.com', transaction: 'won', status: 'disputed' };
  await importLicenses({ key: 'DISPUTED-0001-ABCD', ...disputed });
  expect(await toMail()).toBe(before);
  await purchases().record({ transaction_id: 'won', status: 'dispute_won' });
  expect(await toMail()).toBe(before + 1);
});

test('the mails of an import are not scheduled behind the next attempt of a mail that failed', async () => {
  // No service uses this database, so no mail is sent while the test is at work.
  const { url } = await createDatabase();
  const alone = new Terminal({ DATABASE_URL: url });
  await importAt(alone, { key: 'FAILED-0001-ABCD', email: 'failed@example.com' });
  const failed = await query(
    url,
    `update graphile_worker._private_jobs set attempts = 12, run_at = now() + interval '6 hours'
     where key like 'license_key_imported %' returning key`,
  );
  expect(failed).toHaveLength(1);
  await importAt(alone, { key: 'FAILED-0002-ABCD', email: 'after@example.com' });
  const [mail] = await query<{ soon: boolean }>(
    url,
    `select run_at < now() + interval '1 hour' as soon from graphile_worker._private_jobs
     where key = 'license_key_imported ' || (select id from license where email = 'after@example.com')`,
  );
  expect(mail).toEqual({ soon: true });
});

test('the export of the data of a holder has the hint of the previous key, and the event of the import', async () => {
  const email = 'export@example.com';
  await service.sql('select record_events(true, $1)', [service.clock.now()]);
  await importLicenses({ key: 'EXPORT-0001-4F2A', email });
  await service.sql('select record_events(false, $1)', [service.clock.now()]);
  const holder = await new Browser(service).signInByCode(email);
  const { json } = await holder.call('GET', '/export');
  expect(json.licenses).toMatchObject([{ previous_key_hint: '4F2A', events: [{ type: 'license.issued' }] }]);
});
