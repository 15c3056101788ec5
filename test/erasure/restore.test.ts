import { randomUUID } from 'node:crypto';
import { appendFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { DAY_MS } from '../../src/core/clock.js';
import { LicenseKeys } from '../../src/keys/license-keys.js';
import { ReleaseRequests } from '../../src/releases/release-requests.js';
import { enqueueMail } from '../../src/mail/mail.service.js';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import { ErasureService } from '../../src/erasure/erasure.service.js';
import {
  ACT,
  copyDatabase,
  everyRow,
  formsOfMachine,
  found,
  makeDue,
  waitForJobs,
  waitForSentMails,
  outbox,
  sell,
} from './harness.js';
import { createDatabase, FakeClock, machineId, Service } from '../support/harness.js';
import { formsOfText, LeakSearch } from '../support/leak-search.js';

/** Far from any day on which this may run: the queue itself goes by the database's clock. */
const NOON = '2096-02-10T12:00:00Z';
const ADA = 'ada@leak.example';
const WORDS = 'My Kanari died';
const search = new LeakSearch([
  ...[ADA, WORDS, 'Studio Kanari'].flatMap(formsOfText),
  ...formsOfMachine(machineId('studio')),
]);

const dataDir = mkdtempSync(join(tmpdir(), 'mooring-restore-'));
const file = join(dataDir, 'erased.txt');
let original: Awaited<ReturnType<typeof createDatabase>>;
let restored: Awaited<ReturnType<typeof createDatabase>>;
let service: Service;
let token: string;
/** What she had when the dump was made, and what she bought after her erasure. */
let first: { license_id: string; license_key: string };
let second: string;
/** The license of another holder, sold when the dump was made. */
let other: string;
let request: string;
/** A holder whose request waited in the dump, and was taken back since. */
let cancelled: { token: string; request: string };
let back: Service;

const start = (databaseUrl: string) =>
  Service.start({ databaseUrl, dataDir, clock: new FakeClock(new Date(NOON)) });

beforeAll(async () => {
  original = await createDatabase();
  service = await start(original.url);
  await held();
  await service.close();
  restored = await copyDatabase(original.url);
  await eraseAndComeBack();
  // As it was later left in the restored database: the new purchase was entered again by hand.
  await takeOver(second);
  back = await start(restored.url);
});
afterAll(async () => {
  await back?.close();
  await restored?.drop();
  await original?.drop();
  rmSync(dataDir, { recursive: true });
});

/** What a dump may hold of a person: what is there to stay, and what is on its way, such as a request that waits. */
async function held(): Promise<void> {
  first = await service.issue({ email: ADA });
  await sell(service, ADA, 'first');
  const { json } = await service.activate({ ...first, email: ADA }, 'studio', {
    hostname_hint: 'Studio Kanari',
  });
  token = json.token;
  await service.app.get(ReleaseRequests).create(json.activation.id, WORDS);
  request = (await service.app.get(ErasureService).request(ADA)).id;
  const kept = await service.issue({ email: 'cancelled@example.com' });
  cancelled = {
    token: (await service.activate({ ...kept, email: 'cancelled@example.com' }, 'kept')).json.token,
    request: (await service.app.get(ErasureService).request('cancelled@example.com')).id,
  };
  await waitForJobs(service, 'mail%');
  await service.sql('insert into one_time_code values ($1, $2, 0, $3, $3)', [randomUUID(), ADA, NOON]);
  // A mail that waits: it is not sent while its job is not due.
  await service.app.get(DataSource).transaction(async (manager) => {
    await enqueueMail(manager, 'email_changed', first.license_id, service.clock.now(), { to: ADA });
    await manager.query(
      `select graphile_worker.reschedule_jobs(array(select id from graphile_worker.jobs), run_at := '2096-01-01')`,
    );
  });
}

/** In the original, meanwhile, she buys once more, is erased, and one day buys again. */
async function eraseAndComeBack(): Promise<void> {
  service = await start(original.url);
  await makeDue(service, 'mail%');
  await waitForJobs(service, 'mail%');
  await service.app.get(ErasureService).cancel(cancelled.request);
  await sell(service, ADA, 'between');
  other = await sell(service, 'other@example.com', 'other');
  await service.app.get(ErasureService).run(request, ACT);
  await waitForJobs(service);
  second = await sell(service, ADA, 'second');
  await waitForJobs(service);
  await service.close();
}

async function takeOver(license: string): Promise<void> {
  const [from, to] = [new pg.Client(original.url), new pg.Client(restored.url)];
  await Promise.all([from.connect(), to.connect()]);
  for (const [table, of] of [
    ['purchase', 'id = (select purchase_id from license where id = $1)'],
    ['license', 'id = $1'],
  ]) {
    const { rows } = await from.query(`select to_jsonb(t) as row from ${table} t where ${of}`, [license]);
    await to.query(`insert into ${table} select * from jsonb_populate_record(null::${table}, $1)`, [
      rows[0].row,
    ]);
  }
  await Promise.all([from.end(), to.end()]);
}

test('who was erased is erased again before any request is answered', async () => {
  const beat = await back.heartbeat(token);
  expect([beat.status, beat.json.code, beat.json.client_action]).toEqual([403, 'binding_released', 'stop']);
  expect((await back.activate({ ...first, email: ADA })).json.code).toBe('license_not_found');
});

test('who bought again since has the new license, and nothing else', async () => {
  expect(await back.sql('select id from license where email = $1', [ADA])).toEqual([{ id: second }]);
  expect(await back.sql('select transaction_id from purchase where email = $1', [ADA])).toEqual([
    { transaction_id: 'second' },
  ]);
  expect(await back.sql('select transaction_id, state from purchase where email is null')).toEqual([
    { transaction_id: 'first', state: 'paid' },
  ]);
});

test('nothing else of before has come back, on its way to the address or otherwise', async () => {
  // The receipt of the repeated erasure is addressed to her until it is sent.
  await waitForSentMails(back);
  const rows = (await everyRow(back)).filter((row) => !row.includes(second) && !row.includes(',second,'));
  expect([...search.in(rows.join('\n'))]).toEqual([]);
  expect(rows.filter((row) => row.startsWith('public.license')).length).toBe(3);
});

test('a request that waited in the dump is over: it never runs, and its receipt rather comes twice than never', async () => {
  expect(await found(back, request)).toMatchObject({ state: 'honoured', email: null });
  await makeDue(back);
  await waitForJobs(back);
  expect(await back.sql('select id from license where email = $1', [ADA])).toEqual([{ id: second }]);
  const subjects = (await outbox(back)).map(({ subject }) => subject);
  expect(subjects.filter((subject) => subject.includes('was deleted'))).toHaveLength(2);
  // Nor is the mail sent that waited in the dump.
  expect(subjects.filter((subject) => subject.includes('has changed'))).toHaveLength(1);
});

test('a sale that the dump lacks is the same one when it is reported again; of who was erased nothing comes back', async () => {
  const purchases = back.app.get(PurchasesService);
  const paid = { transaction_id: 'other', status: 'paid', email: 'other@example.com' } as const;
  expect(await purchases.record(paid)).toEqual({ state: 'paid', license_id: other });
  await waitForJobs(back);
  const written = (await outbox(back)).length;
  const hers = { ...paid, transaction_id: 'between', email: ADA };
  for (const state of ['paid', 'paid', 'refunded'] as const)
    expect(await purchases.record({ ...hers, status: state })).toEqual({ state, license_id: null });
  await waitForJobs(back);
  const rows = "select email, state from purchase where transaction_id = 'between'";
  expect(await back.sql(rows)).toEqual([{ email: null, state: 'refunded' }]);
  expect((await outbox(back)).length).toBe(written);
});

test('what was recorded without its buyer stays so, also once no tombstone tells of it any more', async () => {
  renameSync(file, `${file}.moved`);
  const later = await start(restored.url);
  const report = { transaction_id: 'between', status: 'paid', email: ADA } as const;
  expect(await later.app.get(PurchasesService).record(report)).toEqual({
    state: 'refunded',
    license_id: null,
  });
  await later.close();
  renameSync(`${file}.moved`, file);
  const rows = "select email, paid from purchase where transaction_id = 'between'";
  expect(await back.sql(rows)).toEqual([{ email: null, paid: true }]);
});

test('a license of another holder becomes the purchase’s own, and its holder is not taken for who was erased', async () => {
  const keys = back.app.get(LicenseKeys);
  const ids = keys.purchaseIds('agency');
  appendFileSync(file, `\n\npurchase ${ids.purchase_id}\nerasure_request ${randomUUID()}\n`);
  const later = await start(restored.url);
  const { license_id } = await later.issue({ email: 'fay@example.com' });
  await later.sql('update license set key_hash = $2 where id = $1', [
    license_id,
    keys.derive(ids.license_id, 1).key_hash,
  ]);
  const report = { transaction_id: 'agency', status: 'paid', email: 'shop@example.com' } as const;
  expect(await later.app.get(PurchasesService).record(report)).toEqual({ state: 'paid', license_id });
  const named =
    "select p.email as buyer, l.email from purchase p join license l on l.purchase_id = p.id where transaction_id = 'agency'";
  expect(await later.sql(named)).toEqual([{ buyer: null, email: 'fay@example.com' }]);
  await later.close();
});

test('a request that was taken back since the dump is not carried out', async () => {
  expect(await found(back, cancelled.request)).toMatchObject({ state: 'taken_back', email: null });
  back.clock.advance(4 * DAY_MS);
  await back.app.get(ErasureService).runDue();
  expect((await back.heartbeat(cancelled.token)).status).toBe(200);
  back.clock.set(NOON);
});

test('a start after that finds nothing left to do', async () => {
  const rows = async () =>
    (await everyRow(back)).filter((row) => !row.startsWith('public.retention_run')).toSorted();
  const before = await rows();
  const again = await start(restored.url);
  await again.close();
  expect(await rows()).toEqual(before);
});

test('10,000 erasure records do not delay a start, and bring back no other person', async () => {
  const lines = Array.from({ length: 10_000 }, () => `license ${randomUUID()}\n`).join('');
  appendFileSync(file, `\n\n${lines}erasure_request ${randomUUID()}\n`);
  // Less than a statement for each line takes, of which a tenth is measured in the same moment.
  const took = async (work: () => Promise<unknown>) => {
    const began = performance.now();
    await work();
    return performance.now() - began;
  };
  const replay = await took(async () => expect(await back.app.get(ErasureService).replay()).toBe(0));
  const thousand = await took(async () => {
    for (let count = 0; count < 1_000; count += 1) await back.sql('select 1');
  });
  expect(replay).toBeLessThan(10 * thousand);
  expect(await back.sql('select id from license where email = $1', [ADA])).toEqual([{ id: second }]);
});
