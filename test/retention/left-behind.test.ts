import { beforeEach, expect, test } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { RetentionHarness } from './harness.js';

const NOW = '2026-11-20T00:05:00Z';

const harness = await RetentionHarness.start();
await harness.disableRollUp();
beforeEach(async () => {
  await harness.sql('truncate telemetry_inbox, telemetry, one_time_code');
  await harness.store({ '2024-09-10': 3, '2024-10-31': 4, '2024-11-20': 5, '2024-11-21': 6 });
});

const pendingDetaches = async () => {
  const rows = await harness.sql<{ name: string }>(
    'select inhrelid::regclass::text as name from pg_inherits where inhdetachpending',
  );
  return rows.map(({ name }) => name);
};

/** The state after a complete run: the kept rows are there, and the tables of deleted months are gone. */
async function expectFinished(): Promise<void> {
  expect(await harness.days('telemetry')).toEqual({ '2024-11-21': 6 });
  expect(await pendingDetaches()).toEqual([]);
  expect((await harness.partitions())[0]).toBe('2024_11');
  const tables = await harness.sql(`select relname from pg_class where relname ~ '^telemetry_2024_(09|10)'`);
  expect(tables).toEqual([]);
}

/**
 * Begins to detach a month while another connection reads telemetry, and calls `interrupt`, which must end the statement of the
 * process `pid`, so that the month stays half detached.
 */
async function detachHalfway(month: string, interrupt: (pid: number) => Promise<unknown>): Promise<void> {
  const reader = await harness.database.connect();
  const run = new pg.Client(harness.databaseUrl);
  run.on('error', () => undefined);
  await run.connect();
  const { rows } = await run.query<{ pid: number }>('select pg_backend_pid() as pid');
  await reader.query('begin; select count(*) from telemetry');
  const detach = run.query(`alter table telemetry detach partition telemetry_${month} concurrently`);
  const rejection = expect(detach).rejects.toThrow();
  while ((await pendingDetaches()).length === 0) await pause(5);
  await interrupt(rows[0]!.pid);
  await rejection;
  await reader.query('rollback');
  reader.release();
  await run.end().catch(() => undefined);
  expect(await pendingDetaches()).toEqual([`telemetry_${month}`]);
}

test('a month of more rows than a signed 32-bit integer can count is dropped and counted', async () => {
  // The rows of a dropped month are counted by this estimate of PostgreSQL.
  await harness.sql(`update pg_class set reltuples = 3e9 where relname = 'telemetry_2024_09'`);
  expect((await harness.run(NOW)).deleted['telemetry']).toBe(3_000_000_000 + 4 + 5);
  await expectFinished();
});

test('the next run drops a partition that a killed run had detached', async () => {
  await harness.sql('alter table telemetry detach partition telemetry_2024_09');
  expect((await harness.run(NOW)).deleted['telemetry']).toBe(12);
  await expectFinished();
});

test.each([
  ['cancelled', 'pg_cancel_backend($1)'],
  ['killed', 'pg_terminate_backend($1)'],
])('the next run completes the detaching of a run that was %s', async (_how, end) => {
  await detachHalfway('2024_10', (pid) => harness.sql(`select ${end}`, [pid]));
  // PostgreSQL detaches no other partition before this one, so the run completes it before it detaches the older month.
  expect((await harness.run(NOW)).deleted['telemetry']).toBe(12);
  await expectFinished();
});

test('a half detached month is deleted without a wait for readers of telemetry', async () => {
  await detachHalfway('2024_09', (pid) => harness.sql('select pg_terminate_backend($1)', [pid]));
  const reader = await harness.database.connect();
  await reader.query('begin; select count(*) from telemetry');
  expect((await harness.run('2026-10-15T00:05:00Z')).deleted).toEqual({ telemetry: 3 });
  await reader.query('rollback');
  reader.release();
  expect(await pendingDetaches()).toEqual([]);
});

test('a half detached month that is not due does not delay the deletion of an older one, and is kept until it is due', async () => {
  await detachHalfway('2024_10', (pid) => harness.sql('select pg_terminate_backend($1)', [pid]));
  expect((await harness.run('2026-10-15T00:05:00Z')).deleted).toEqual({ telemetry: 3 });
  expect(await pendingDetaches()).toEqual([]);
  expect(await harness.days('telemetry_2024_10')).toEqual({ '2024-10-31': 4 });
  expect((await harness.run(NOW)).deleted['telemetry']).toBe(9);
  await expectFinished();
});

test('a detached and a half detached month are both deleted in one run', async () => {
  await harness.sql('alter table telemetry detach partition telemetry_2024_09');
  await detachHalfway('2024_10', (pid) => harness.sql('select pg_terminate_backend($1)', [pid]));
  expect((await harness.run(NOW)).deleted['telemetry']).toBe(12);
  await expectFinished();
});

test('no table, view or schema with a similar name is dropped', async () => {
  await harness.sql(`
    create table telemetry_2020_01_copy (id uuid);
    create table telemetry_copy (id uuid);
    create schema elsewhere; create table elsewhere.telemetry_2020_01 (id uuid);
    create view telemetry_2020_02 as select 1 as one`);
  await harness.run(NOW);
  await expectFinished();
  const left = await harness.sql(
    `select 1 from pg_class where relname in ('telemetry_2020_01_copy', 'telemetry_copy', 'telemetry_2020_01', 'telemetry_2020_02')`,
  );
  expect(left).toHaveLength(4);
  await harness.sql(
    'drop schema elsewhere cascade; drop view telemetry_2020_02; drop table telemetry_copy, telemetry_2020_01_copy',
  );
});

test('a detached month is kept until all of its rows are due', async () => {
  await harness.sql('alter table telemetry detach partition telemetry_2024_11');
  await harness.run('2026-11-20T23:59:59Z');
  expect(await harness.days('telemetry_2024_11')).toEqual({ '2024-11-21': 6 });
  await harness.run('2026-11-30T00:00:00Z');
  expect(await harness.sql(`select to_regclass('telemetry_2024_11') as found`)).toEqual([{ found: null }]);
});

test('a failure in one table is reported, and does not stop the deletion in others', async () => {
  await harness.insert('one_time_code', { expires_at: '2026-11-01' });
  await harness.insert('purchase', { recorded_on: '2010-01-01' });
  await harness.sql(`
    create function broken() returns trigger language plpgsql as $$ begin raise exception 'broken'; end $$;
    create trigger broken before delete on purchase for each row execute function broken()`);
  const report = await harness.retention.run(new Date(NOW));
  expect(report).toMatchObject({
    deleted: { telemetry: 12, one_time_code: 1 },
    failed: [{ table: 'purchase', error: { message: expect.stringContaining('broken') } }],
  });
  const lastRun = 'select failed from retention_run order by id desc limit 1';
  expect(await harness.sql(lastRun)).toEqual([{ failed: ['purchase'] }]);
  await harness.sql('drop function broken cascade');
  expect((await harness.run(NOW)).deleted).toEqual({ purchase: 1 });
});
