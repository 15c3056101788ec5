import { randomUUID } from 'node:crypto';
import { appendFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, jest, test } from '@jest/globals';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { DAY_MS } from '../../src/core/clock.js';
import { LicenseKeys } from '../../src/keys/license-keys.js';
import { ReleaseRequests } from '../../src/releases/release-requests.js';
import { enqueueMail } from '../../src/mail/mail.service.js';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import { ErasureService } from '../../src/erasure/erasure.service.js';
import { query } from '../support/databases/replica-harness.js';
import {
  formsOfMachine,
  findRequest,
  makeDue,
  waitForJobs,
  waitForSentMails,
  outbox,
  sell,
} from './harness.js';
import {
  AUDIT_CONTEXT,
  connect,
  copyDatabase,
  createDatabase,
  FakeClock,
  machineId,
  Service,
  type TestDatabase,
} from '../support/harness.js';
import { formsOfText, LeakSearch } from '../support/leak-search.js';
import { withLimits } from '../support/limits.js';
import { everyRow } from '../support/tables.js';
import { until } from '../support/until.js';
import { temporaryFolder } from '../support/folders.js';

/** Far in the future, so that no job of a holder's request is due: the job queue uses the database's clock. */
const NOON = '2096-02-10T12:00:00Z';
const ADA = 'ada@leak.example';
const REQUEST_REASON = 'My Kanari died';
/** Finds the personal data of Ada. No other data contains the word Kanari. */
const search = new LeakSearch([
  ...[ADA, REQUEST_REASON, 'Studio Kanari'].flatMap(formsOfText),
  ...formsOfMachine(machineId('studio')),
]);

const dataDir = temporaryFolder();
const file = join(dataDir, 'erased.txt');
let original: TestDatabase;
let restored: TestDatabase;
let service: Service;
let token: string;
/** The license that was issued to Ada before the dump. Her purchase `first` has another license. */
let first: { license_id: string; license_key: string };
/** The id of the license that Ada bought after her erasure. */
let second: string;
/** The id of the license of another holder, sold after the dump. */
let other: string;
/** The id of Ada's erasure request, which is waiting in the dump. */
let request: string;
/** A holder whose request is waiting in the dump and was cancelled later in the original. */
let cancelled: { token: string; request: string };
/** The service on the restored database. */
let restoredService: Service;

const start = (databaseUrl: string) => Service.start({ databaseUrl, dataDir, clock: new FakeClock(NOON) });

beforeAll(async () => {
  original = await createDatabase();
  service = await start(original.url);
  await fillOriginal();
  await service.close();
  restored = await copyDatabase(original);
  await eraseAndBuyAgain();
  // The operator has copied the new purchase to the restored database.
  await copyPurchase(second);
  restoredService = await start(restored.url);
});

/** Fills the original with all data of a person that a dump may have, including waiting mails and requests. */
async function fillOriginal(): Promise<void> {
  first = await service.issue({ email: ADA });
  await sell(service, ADA, 'first');
  const { json } = await service.activate({ ...first, email: ADA }, 'studio', {
    hostname_hint: 'Studio Kanari',
  });
  token = json.token;
  await service.app.get(ReleaseRequests).create(json.activation.id, REQUEST_REASON);
  request = (await service.app.get(ErasureService).request(ADA)).id;
  const kept = await service.issue({ email: 'cancelled@example.com' });
  cancelled = {
    token: (await service.activate({ ...kept, email: 'cancelled@example.com' }, 'kept')).json.token,
    request: (await service.app.get(ErasureService).request('cancelled@example.com')).id,
  };
  await waitForJobs(service, 'mail%');
  await service.sql('insert into one_time_code values ($1, $2, 0, $3, $3)', [randomUUID(), ADA, NOON]);
  // This mail is waiting, because its job is not due.
  await service.app.get(DataSource).transaction(async (manager) => {
    await enqueueMail(manager, 'email_changed', first.license_id, service.clock.now(), { to: ADA });
    await manager.query(
      `select graphile_worker.reschedule_jobs(array(select id from graphile_worker.jobs), run_at := '2096-01-01')`,
    );
  });
}

/** In the original, after the dump, Ada buys another license, is erased, and buys again. */
async function eraseAndBuyAgain(): Promise<void> {
  service = await start(original.url);
  await makeDue(service, 'mail%');
  await waitForJobs(service, 'mail%');
  await service.app.get(ErasureService).cancel(cancelled.request);
  await sell(service, ADA, 'between');
  other = await sell(service, 'other@example.com', 'other');
  await service.app.get(ErasureService).run(request, AUDIT_CONTEXT);
  await waitForJobs(service);
  second = await sell(service, ADA, 'second');
  await waitForJobs(service);
  await service.close();
}

async function copyPurchase(license: string): Promise<void> {
  for (const [table, condition] of [
    ['purchase', 'id = (select purchase_id from license where id = $1)'],
    ['license', 'id = $1'],
  ]) {
    const [found] = await query<{ row: unknown }>(
      original.url,
      `select to_jsonb(t) as row from ${table} t where ${condition}`,
      [license],
    );
    const insert = `insert into ${table} select * from jsonb_populate_record(null::${table}, $1)`;
    await query(restored.url, insert, [found!.row]);
  }
}

test('the erasure is repeated before the restored service answers a request', async () => {
  const beat = await restoredService.heartbeat(token);
  expect([beat.status, beat.json.code, beat.json.client_action]).toEqual([403, 'binding_released', 'stop']);
  expect((await restoredService.activate({ ...first, email: ADA })).json.code).toBe('license_not_found');
});

test('an erased person who bought again has the new license and no other data', async () => {
  expect(await restoredService.sql('select id from license where email = $1', [ADA])).toEqual([
    { id: second },
  ]);
  expect(await restoredService.sql('select transaction_id from purchase where email = $1', [ADA])).toEqual([
    { transaction_id: 'second' },
  ]);
  expect(await restoredService.sql('select transaction_id, state from purchase where email is null')).toEqual(
    [{ transaction_id: 'first', state: 'paid' }],
  );
});

test('no other personal data is restored, not even in waiting mails', async () => {
  // The address is stored for the receipt of the repeated erasure until the receipt is sent.
  await waitForSentMails(restoredService);
  // The license and the purchase `second`, which Ada bought after her erasure, are left out.
  const rows = (await everyRow(restoredService.database)).filter(
    (row) => !row.includes(second) && !row.includes(',second,'),
  );
  expect([...search.in(rows.join('\n'))]).toEqual([]);
  // Ada's two licenses of the dump, and the license of the holder who cancelled.
  expect(rows.filter((row) => row.startsWith('public.license:')).length).toBe(3);
});

test('a request that is waiting in the dump is carried out by the replay, which sends a second receipt', async () => {
  expect(await findRequest(restoredService, request)).toMatchObject({ state: 'honoured', email: null });
  await makeDue(restoredService);
  await waitForJobs(restoredService);
  expect(await restoredService.sql('select id from license where email = $1', [ADA])).toEqual([
    { id: second },
  ]);
  const subjects = (await outbox(restoredService)).map(({ subject }) => subject);
  expect(subjects.filter((subject) => subject.includes('was deleted'))).toHaveLength(2);
  // The mail that is waiting in the dump is not sent a second time.
  expect(subjects.filter((subject) => subject.includes('has changed'))).toHaveLength(1);
});

test('a purchase that the dump lacks gets the same license when it is reported again, but a purchase of an erased buyer gets none', async () => {
  const purchases = restoredService.app.get(PurchasesService);
  const paid = { transaction_id: 'other', status: 'paid', email: 'other@example.com' } as const;
  expect(await purchases.record(paid)).toEqual({ state: 'paid', license_id: other, license_ids: [other] });
  await waitForJobs(restoredService);
  const mailCount = (await outbox(restoredService)).length;
  const paidByAda = { ...paid, transaction_id: 'between', email: ADA };
  for (const state of ['paid', 'paid', 'refunded'] as const)
    expect(await purchases.record({ ...paidByAda, status: state })).toEqual({
      state,
      license_id: null,
      license_ids: [],
    });
  await waitForJobs(restoredService);
  const selectPurchase = "select email, state from purchase where transaction_id = 'between'";
  expect(await restoredService.sql(selectPurchase)).toEqual([{ email: null, state: 'refunded' }]);
  expect((await outbox(restoredService)).length).toBe(mailCount);
});

test('a purchase that was recorded without its buyer gets no buyer later, even without the tombstone file', async () => {
  renameSync(file, `${file}.moved`);
  const later = await start(restored.url);
  const report = { transaction_id: 'between', status: 'paid', email: ADA } as const;
  expect(await later.app.get(PurchasesService).record(report)).toEqual({
    state: 'refunded',
    license_id: null,
    license_ids: [],
  });
  await later.close();
  renameSync(`${file}.moved`, file);
  const selectPurchase = "select email, paid from purchase where transaction_id = 'between'";
  expect(await restoredService.sql(selectPurchase)).toEqual([{ email: null, paid: true }]);
});

test('a purchase of an erased buyer is linked to an existing license with the key derived for the purchase, and this license keeps its holder', async () => {
  const keys = restoredService.app.get(LicenseKeys);
  const ids = keys.purchaseIds('agency');
  appendFileSync(file, `\n\npurchase ${ids.purchase_id}\nerasure_request ${randomUUID()}\n`);
  const later = await start(restored.url);
  const { license_id } = await later.issue({ email: 'fay@example.com' });
  await later.sql('update license set key_hash = $2 where id = $1', [
    license_id,
    keys.derive(ids.license_id, 1).key_hash,
  ]);
  const report = { transaction_id: 'agency', status: 'paid', email: 'shop@example.com' } as const;
  expect(await later.app.get(PurchasesService).record(report)).toEqual({
    state: 'paid',
    license_id,
    license_ids: [license_id],
  });
  const selectAddresses =
    "select p.email as buyer, l.email from purchase p join license l on l.purchase_id = p.id where transaction_id = 'agency'";
  expect(await later.sql(selectAddresses)).toEqual([{ buyer: null, email: 'fay@example.com' }]);
  await later.close();
});

test('a license that was erased after the dump is not issued again by a repeated request of staff', async () => {
  const keys = restoredService.app.get(LicenseKeys);
  const authorization = `Bearer ${await restoredService.staffToken('admin')}`;
  const [staff] = await restoredService.sql<{ id: string }>('select id from staff');
  const license_id = keys.issuedLicenseId(staff!.id, 'order-1');
  appendFileSync(file, `\n\nlicense ${license_id}\nerasure_request ${randomUUID()}\n`);
  const later = await start(restored.url);
  const headers = { authorization, 'idempotency-key': 'order-1' };
  const { status, json } = await later.call('POST', '/support/api/licenses', { email: ADA }, headers);
  expect([status, json.code, json.license_id]).toEqual([422, 'idempotency_key_reused', license_id]);
  await later.close();
});

test('a request that was cancelled after the dump is not carried out', async () => {
  expect(await findRequest(restoredService, cancelled.request)).toMatchObject({
    state: 'taken_back',
    email: null,
  });
  restoredService.clock.advance(4 * DAY_MS);
  await restoredService.app.get(ErasureService).runDue();
  expect((await restoredService.heartbeat(cancelled.token)).status).toBe(200);
  restoredService.clock.set(NOON);
});

test('another start changes nothing', async () => {
  const rows = async () =>
    (await everyRow(restoredService.database))
      .filter((row) => !row.startsWith('public.retention_run'))
      .toSorted();
  const before = await rows();
  const again = await start(restored.url);
  await again.close();
  expect(await rows()).toEqual(before);
});

test('10,000 more ids in the file need no statements of their own, and erase nothing', async () => {
  const lines = Array.from({ length: 10_000 }, () => `license ${randomUUID()}\n`).join('');
  appendFileSync(file, `\n\n${lines}erasure_request ${randomUUID()}\n`);
  const query = jest.spyOn(pg.Client.prototype, 'query');
  await restoredService.app.get(ErasureService).replay();
  const { calls } = query.mock;
  query.mockRestore();
  // Jobs of the service run a few statements meanwhile.
  expect(calls.length).toBeLessThan(1_000);
  expect(calls.some((call) => JSON.stringify(call).includes(lines.slice(8, 44)))).toBe(true);
  expect(await restoredService.sql('select id from license where email = $1', [ADA])).toEqual([
    { id: second },
  ]);
});

test('a start waits for a statement of the replay that takes longer than a statement of a request may', async () => {
  const { url } = await createDatabase();
  const lockHolder = await connect(url);
  await lockHolder.query('begin; lock table database_identity');
  const state = { hasEnded: false };
  const end = () => void (state.hasEnded = true);
  const starting = withLimits({ statement: 300 }, () => Service.start({ databaseUrl: url }));
  starting.then(end, end);
  // 900 ms is three times the time limit of a statement that a request has here.
  const longWaits = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
                     and clock_timestamp() > query_start + interval '900 ms'`;
  await until(async () => state.hasEnded || (await query(url, longWaits)).length > 0);
  expect(state.hasEnded).toBe(false);
  await lockHolder.query('commit');
  await (await starting).close();
});
