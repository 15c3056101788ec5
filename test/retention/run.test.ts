import { beforeEach, expect, test } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { createRetentionPolicy } from '../../src/retention/policy.js';
import { waitingLocks } from '../support/tables.js';
import { RetentionHarness } from './harness.js';
import { withLockTimeouts } from './lock-timeouts.js';

const NOW = '2026-11-20T00:05:00Z';
const asOf = new Date(NOW);

const harness = await RetentionHarness.start();
await harness.disableRollUp();
await harness.run(NOW);
beforeEach(() => harness.sql('truncate telemetry_inbox, telemetry_inbox_draining, telemetry, one_time_code'));

/** Runs the retention with lock timeouts of 20 ms. */
const runWithShortTimeouts = () => withLockTimeouts(20, () => harness.retention.run(asOf));

/** Calls `work` while another transaction, which has executed `statement`, is open. */
async function during<T>(statement: string, work: () => Promise<T>): Promise<T> {
  const other = await harness.database.connect();
  try {
    await other.query(`begin; ${statement}`);
    return await work();
  } finally {
    await other.query('rollback');
    other.release();
  }
}

test('a dry run counts by table what a run would do, and changes nothing', async () => {
  await harness.receive({ '2026-11-19': 3, '2026-11-20': 2 });
  for (const expires_at of ['2026-11-18', '2026-11-19', '2026-11-21'])
    await harness.insert('one_time_code', { expires_at });
  const { id: license_id } = await harness.insert('license', { ended_at: '2025-12-20' });
  await harness.insert('activation', { license_id });
  const steps: [number, number][] = [];
  const onProgress = (done: number, total: number) => void steps.push([done, total]);
  const dry = await harness.retention.run(asOf, { dryRun: true, onProgress });
  const expected = { telemetry_rows_moved: 3, activations_ended: 1, deleted: { one_time_code: 2 } };
  expect(dry).toEqual({ as_of: asOf, ...expected, weeks_counted: 0, tables_rewritten: 0, failed: [] });
  const rules = createRetentionPolicy({ taxRetentionYears: 10 }).length;
  expect(steps).toEqual(Array.from({ length: rules }, (_, index) => [index + 1, rules]));
  expect(await harness.days('telemetry_inbox')).toEqual({ '2026-11-19': 3, '2026-11-20': 2 });
  expect([await harness.count('one_time_code'), await harness.count('telemetry')]).toEqual([3, 0]);
  expect(await harness.run(NOW)).toMatchObject(expected);
});

test('a dry run names the tables whose due rows it cannot count', async () => {
  await harness.sql('alter table one_time_code rename to elsewhere');
  const dry = await harness.retention.run(asOf, { dryRun: true });
  await harness.sql('alter table elsewhere rename to one_time_code');
  expect(dry?.failed.map(({ table }) => table)).toEqual(['one_time_code']);
});

test('a run and a dry run report each failed step by its table', async () => {
  await harness.sql('alter table activation rename to elsewhere');
  await harness.sql('alter table fleet_week rename to another');
  const dry = await harness.retention.run(asOf, { dryRun: true });
  const report = await harness.retention.run(asOf);
  await harness.sql('alter table another rename to fleet_week');
  await harness.sql('alter table elsewhere rename to activation');
  // Several steps use the same table, and the rule of licenses also reads activations.
  const failedTables = (run: typeof report) => run!.failed.map(({ table }) => table);
  expect(failedTables(dry)).toEqual(['activation', 'fleet_week', 'activation', 'license']);
  expect(failedTables(report)).toEqual(['fleet_week', 'activation', 'fleet_week', 'activation', 'license']);
});

test('a run records the oldest day of each table, unless it is after the day of the run', async () => {
  const oldest = async () => {
    await harness.run(NOW);
    const [run] = await harness.sql<{ oldest: Record<string, string> }>(
      'select oldest from retention_run order by id desc limit 1',
    );
    return run!.oldest['one_time_code'];
  };
  expect(await oldest()).toBeUndefined();
  await harness.insert('one_time_code', { expires_at: '2026-11-21' });
  expect(await oldest()).toBeUndefined();
  await harness.insert('one_time_code', { expires_at: '2026-11-20T12:00:00Z' });
  expect(await oldest()).toBe('2026-11-20');
});

test('a run that finds no due row does not swap the inbox', async () => {
  await harness.receive({ '2026-11-20': 2 });
  const inbox = () =>
    harness.sql(`select 'telemetry_inbox'::regclass::oid as oid, array_agg(id) from telemetry_inbox`);
  const before = await inbox();
  expect((await harness.run(NOW)).telemetry_rows_moved).toBe(0);
  expect(await inbox()).toEqual(before);
});

test('while a long transaction reads the inbox, a run skips the move and does the rest, and the next run moves the rows', async () => {
  await harness.receive({ '2026-11-19': 4 });
  await harness.insert('one_time_code', { expires_at: '2026-11-19' });
  const report = await during('select count(*) from telemetry_inbox', runWithShortTimeouts);
  expect(report).toMatchObject({
    telemetry_rows_moved: 0,
    deleted: { one_time_code: 1 },
    failed: [{ table: 'telemetry_inbox', error: { message: expect.stringContaining('lock timeout') } }],
  });
  expect((await harness.run(NOW)).telemetry_rows_moved).toBe(4);
});

test('a step gives up after its lock timeout on a table that another transaction has locked', async () => {
  await harness.insert('one_time_code', { expires_at: '2026-11-19' });
  const locked = 'lock table one_time_code in access exclusive mode';
  const report = await during(locked, runWithShortTimeouts);
  // The step file_rewrite waits too, because it reads the size of the table.
  const lockTimeout = { message: expect.stringContaining('lock timeout') };
  expect(report!.failed).toMatchObject([
    { table: 'one_time_code', error: lockTimeout },
    { table: 'file_rewrite', error: lockTimeout },
  ]);
  expect((await harness.run(NOW)).deleted).toEqual({ one_time_code: 1 });
});

test('while the rows of an inbox are being moved, no row can be inserted into it, so that truncating it loses none', async () => {
  await harness.receive({ '2026-11-19': 4 });
  const { run } = await during('lock table telemetry in access exclusive mode', async () => {
    // The run waits for the lock until the insert has failed, however long that takes.
    const { run } = await withLockTimeouts(0, async () => {
      const run = harness.run(NOW);
      while ((await harness.sql(waitingLocks('telemetry'))).length === 0) await pause(5);
      return { run };
    });
    const lateInsert = `set lock_timeout = 100; insert into telemetry_inbox_draining (id, received_on)
      values (gen_random_uuid(), '2026-11-20')`;
    const other = await harness.database.connect();
    const failure = await other.query(lateInsert).catch(String);
    other.release(true);
    expect(failure).toMatch(/lock timeout/);
    return { run };
  });
  expect((await run).telemetry_rows_moved).toBe(4);
});
