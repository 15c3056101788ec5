import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { startOwnPostgres } from '../support/databases/own-postgres.js';
import { ReleaseRequests } from '../../src/releases/release-requests.js';
import { RetentionService } from '../../src/retention/retention.service.js';
import { DeletedRowsRemain, LARGE_TABLE_BYTES, REWRITTEN_TABLES } from '../../src/retention/rewrite.js';
import { erase, formsOfMachine, mailsTo, sell } from '../erasure/harness.js';
import { retryWhileUnavailable, machineId, Service, connect, HOUR_MS } from '../support/harness.js';
import { formsOfText, LeakSearch } from '../support/leak-search.js';
import { temporaryFolder } from '../support/folders.js';
import { until } from '../support/until.js';
import { DAY_MS } from '../../src/core/clock.js';

const HOLDER = {
  email: 'canary.files@leak.example',
  label: 'Canary Files 7c1e',
  reason: 'Canary was sold 9d2b',
};

// The test starts its own server, so that no data of other tests is in the files.
const directory = temporaryFolder();
const server = await startOwnPostgres(directory);
const service = await Service.start({ databaseUrl: server.url });
const retention = service.app.get(RetentionService);
// The first run records each table, whose file is then due after 20 hours. The start of the service makes no run, because its
// database contains runs that global-setup.mjs has recorded.
await retention.run();

const search = new LeakSearch([
  ...[HOLDER.email, HOLDER.label, HOLDER.reason].flatMap(formsOfText),
  ...formsOfMachine(machineId('canary')),
  { what: 'the bytes of the machine id', bytes: Buffer.from(machineId('canary'), 'hex'), binary: true },
]);

/** The values of the holder that the files of the database still contain. A base backup copies these files. */
async function findLeaks(): Promise<string[]> {
  await service.sql('checkpoint');
  const hits = search.inFiles(join(directory, 'postgres/base'));
  return [...new Set(hits.map((hit) => hit.slice(hit.indexOf(': ') + 2)))];
}

/** Whether a run has ended. */
const isOver = (run: Promise<unknown>) => Promise.race([run.then(() => true), nextTurn(false)]);

async function rewriteTimes(): Promise<Record<string, string>> {
  const rows = await service.sql<{ table_name: string; rewritten_at: Date }>('select * from file_rewrite');
  return Object.fromEntries(rows.map((row) => [row.table_name, row.rewritten_at.toISOString()]));
}

/** Creates a holder with all kinds of stored data: purchase, machines, release request, codes, sessions and mails. */
async function createHolder(): Promise<void> {
  const { email } = HOLDER;
  await sell(service, email, 'pi_files');
  const license = await service.issue({ email, machines_allowed: 20 });
  const activate = (machine: string) => service.activate(license, machine, { hostname_hint: HOLDER.label });
  const { json } = await activate('canary');
  for (let machine = 1; machine < 20; machine += 1) await activate(`canary ${machine}`);
  await service.app.get(ReleaseRequests).create(json.activation.id, HOLDER.reason);
  await service.call('POST', '/portal/api/session/code', { email }, { origin: 'http://localhost:3000' });
  await service.call('POST', '/portal/api/session', license, { origin: 'http://localhost:3000' });
  // The update leaves old versions of rows. `vacuum` removes them, but their bytes stay in the compacted pages.
  await service.sql('update license set machines_allowed = machines_allowed + 1 where email = $1', [email]);
  await service.sql('vacuum license, activation');
}

test('24 hours after an erasure no database file contains the erased data, and requests are answered during the rewrite', async () => {
  const others = await service.issue({ email: 'grace@example.com', machines_allowed: 10_000 });
  const { token } = (await service.activate(others)).json;
  await createHolder();
  await erase(service, HOLDER.email);
  await mailsTo(service, HOLDER.email, /was deleted/);
  expect(await findLeaks()).toEqual(
    expect.arrayContaining([HOLDER.email, HOLDER.label, 'the bytes of the machine id']),
  );
  // PostgreSQL's own maintenance leaves the bytes in the files.
  await service.sql('vacuum');
  expect(await findLeaks()).toContain(HOLDER.email);

  service.clock.advance(21 * HOUR_MS);
  const run = retention.run();
  const statuses = new Set<number>();
  for (let machine = 0; machine < 20 || !(await isOver(run)); machine += 1) {
    const answers = await Promise.all([
      retryWhileUnavailable(() => service.heartbeat(token)),
      retryWhileUnavailable(() => service.activate(others, `machine ${machine}`)),
    ]);
    for (const { status } of answers) statuses.add(status);
  }
  expect(await run).toMatchObject({ failed: [], tables_rewritten: REWRITTEN_TABLES.length });
  expect([...statuses].toSorted()).toEqual([200, 201]);
  service.clock.advance(3 * HOUR_MS);
  expect(await findLeaks()).toEqual([]);
});

test('a table is rewritten once in 20 hours, and keeps its rows, indexes and settings', async () => {
  const settings = `select attrelid::regclass::text, attname, attstattarget from pg_attribute
    where attstattarget = 0 order by 1, 2`;
  const [before, rows] = [
    await service.sql(settings),
    await service.sql('select * from license order by id'),
  ];
  expect((await retention.run())!.tables_rewritten).toBe(0);
  service.clock.advance(20 * HOUR_MS);
  expect((await retention.run())!.tables_rewritten).toBe(REWRITTEN_TABLES.length);
  expect((await retention.run())!.tables_rewritten).toBe(0);
  expect(await service.sql(settings)).toEqual(before);
  expect(await service.sql('select * from license order by id')).toEqual(rows);
  expect(await service.sql('select 1 from pg_index where not indisvalid')).toEqual([]);
});

test('while a transaction can read deleted rows, a run reports an error and rewrites no table, and the next run does', async () => {
  service.clock.advance(21 * HOUR_MS);
  const before = await rewriteTimes();
  const reader = await connect(server.url);
  await reader.query('begin isolation level repeatable read; select 1');
  await service.sql(
    "insert into one_time_code values (gen_random_uuid(), 'x@leak.example', 0, now(), '2099-01-01')",
  );
  await service.sql('delete from one_time_code');
  const report = await retention.run();
  expect(report).toMatchObject({ failed: [{ table: 'file_rewrite' }], tables_rewritten: 0 });
  expect(report!.failed[0]!.error).toEqual(new DeletedRowsRemain());
  expect(new DeletedRowsRemain().message).toMatch(
    /^Tables are not rewritten, because .* End the transaction, .*; .* tries again\.$/,
  );
  expect(await rewriteTimes()).toEqual(before);
  await reader.query('commit');
  await reader.end();
  expect(await retention.run()).toMatchObject({ failed: [], tables_rewritten: REWRITTEN_TABLES.length });
});

test('a run waits for a transaction that can read deleted rows and ends soon, and then rewrites', async () => {
  service.clock.advance(21 * HOUR_MS);
  const reader = await connect(server.url);
  await reader.query('begin isolation level repeatable read; select 1');
  // Takes a transaction id that is newer than the snapshot of `reader`.
  await service.sql('select txid_current()');
  const run = retention.run();
  // While the run waits, it repeats the statement of rewrite.ts that contains `pg_prepared_xacts`. If a connection has this as its
  // last statement and is idle, the run has found the transaction.
  const waiting = `select from pg_stat_activity
    where query like '%pg_prepared_xacts%' and state = 'idle' and pid <> pg_backend_pid()`;
  while ((await service.sql(waiting)).length === 0) await nextTurn();
  await reader.query('commit');
  await reader.end();
  expect(await run).toMatchObject({ failed: [], tables_rewritten: REWRITTEN_TABLES.length });
});

/** Starts `vacuum` or `analyze` with delays, as for a very large table. @returns a function that ends it */
async function beginMaintenance(command: 'vacuum' | 'analyze'): Promise<() => Promise<void>> {
  await service.sql('create table if not exists maintained as select generate_series(1, 100000) as number');
  const worker = await connect(server.url);
  await worker.query('set vacuum_cost_delay = 100; set vacuum_cost_limit = 1');
  const work = worker.query(`${command} maintained`).catch(() => undefined);
  const progress = `select pid from pg_stat_progress_${command}`;
  await until(async () => (await service.sql(progress)).length > 0);
  // Takes a transaction id that is newer than the snapshot of the worker.
  await service.sql('select txid_current()');
  return async () => {
    await service.sql(`select pg_cancel_backend(pid) from (${progress}) worker`);
    await work;
    await worker.end();
  };
}

test('a run does not wait for a vacuum, which keeps no deleted rows', async () => {
  service.clock.advance(21 * HOUR_MS);
  await service.sql('delete from one_time_code');
  await service.sql(
    "insert into one_time_code values (gen_random_uuid(), 'x@leak.example', 0, now(), '2099-01-01')",
  );
  const end = await beginMaintenance('vacuum');
  await service.sql('delete from one_time_code');
  expect(await retention.run()).toMatchObject({ failed: [], tables_rewritten: REWRITTEN_TABLES.length });
  expect(await service.sql("select pg_relation_size('one_time_code')::integer as bytes")).toEqual([
    { bytes: 0 },
  ]);
  await end();
});

test('while `analyze` can read deleted rows, a run rewrites no table', async () => {
  service.clock.advance(21 * HOUR_MS);
  const end = await beginMaintenance('analyze');
  expect((await retention.run())!.failed[0]!.error).toEqual(new DeletedRowsRemain());
  await end();
});

test('a run gives up on a table that is being read, so that heartbeats are answered, and the next run rewrites it', async () => {
  service.clock.advance(21 * HOUR_MS);
  const license = await service.issue();
  const { token } = (await service.activate(license, 'a reader')).json;
  const reader = await connect(server.url);
  await reader.query('begin; lock table license in access share mode');
  const run = retention.run();
  while (!(await isOver(run)))
    expect((await retryWhileUnavailable(() => service.heartbeat(token))).status).toBe(200);
  expect((await run)!.failed.map(({ table }) => table)).toEqual(['license']);
  expect((await rewriteTimes())['activation']).toBe(service.clock.now().toISOString());
  await reader.query('commit');
  await reader.end();
  expect(await retention.run()).toMatchObject({ failed: [], tables_rewritten: 1 });
});

test('a large table is rewritten every 21 days, for two days only in LARGE_TABLE_HOUR', async () => {
  // Each row has more than 512 bytes, so the table is larger than the limit.
  const rows = LARGE_TABLE_BYTES / 512;
  await service.sql(
    `insert into audit_event (id, actor, action, change, reason, at)
     select gen_random_uuid(), 'test', 'test', '{}', repeat('x', 500), now() from generate_series(1, $1::integer)`,
    [rows],
  );
  const last = (await rewriteTimes())['audit_event']!;
  const midnight = Date.parse(last) - (Date.parse(last) % DAY_MS);
  const rewritten = async (days: number, hour: number) => {
    service.clock.set(new Date(midnight + days * DAY_MS + hour * HOUR_MS).toISOString());
    expect((await retention.run())!.failed).toEqual([]);
    return (await rewriteTimes())['audit_event'] !== last;
  };
  // LARGE_TABLE_HOUR is 3.
  expect(await rewritten(12, 3)).toBe(false);
  expect(await rewritten(22, 2)).toBe(false);
  expect(await rewritten(22, 4)).toBe(false);
  expect(await rewritten(23, 3)).toBe(true);
});

test('a table that was not rewritten in time causes a warning until it is rewritten', async () => {
  const warning = 'A table was last rewritten on 2026-12-01: its file may still hold what was erased since.';
  const warnings = async () => (await service.call('GET', '/health/ready')).json.warnings as string[];
  expect(await warnings()).not.toContain(warning);
  await service.sql("update file_rewrite set rewritten_at = '2026-12-01' where table_name = 'session'");
  expect(await warnings()).toContain(warning);
  await retention.run();
  expect(await warnings()).not.toContain(warning);
});

test('a table that only an earlier version rewrote causes no warning', async () => {
  const before = (await service.call('GET', '/health/ready')).json.warnings as string[];
  await service.sql(`insert into file_rewrite values ('no_such_table', false, '2000-01-01')`);
  expect((await service.call('GET', '/health/ready')).json.warnings).toEqual(before);
  await service.sql(`delete from file_rewrite where table_name = 'no_such_table'`);
});
