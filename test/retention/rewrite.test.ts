import { expect, test } from '@jest/globals';
import type { QueryRunner } from 'typeorm';
import { withMaintenanceConnection } from '../../src/database/data-source.js';
import { LOCK_TIMEOUT_MS } from '../../src/database/locks.js';
import { EXEMPT_TABLES, createRetentionPolicy } from '../../src/retention/policy.js';
import {
  LARGE_TABLE_BYTES,
  REWRITTEN_TABLES,
  rewriteTable,
  tablesToRewrite,
} from '../../src/retention/rewrite.js';
import { RetentionHarness } from './harness.js';

/* When a file is due, and how it is rewritten. test/retention/file-rewrite.test.ts tests whole runs and reads the files. */

const HOUR_MS = 3_600_000;
const NOW = new Date('2026-11-20T03:05:00Z');

const harness = await RetentionHarness.start();

const withRunner = <T>(work: (runner: QueryRunner) => Promise<T>) =>
  withMaintenanceConnection(harness.databaseUrl, (dataSource) => work(dataSource.createQueryRunner()));

const setRewrittenAt = (table: string, at: Date) =>
  harness.sql('update file_rewrite set rewritten_at = $2 where table_name = $1', [table, at]);

/** Whether the file of a table is due at NOW, if its last rewrite was `ageMs` earlier. */
async function isDue(table: string, ageMs: number, largeTableHour = 3): Promise<boolean> {
  await setRewrittenAt(table, new Date(NOW.getTime() - ageMs));
  return (await withRunner((runner) => tablesToRewrite(runner, NOW, largeTableHour))).includes(table);
}

test('a table that is not recorded yet is recorded, and its file is due 20 hours later', async () => {
  await withRunner(async (runner) => {
    expect(await tablesToRewrite(runner, NOW, 3)).toEqual([]);
    const recorded = await harness.sql('select * from file_rewrite where table_name = any($1)', [
      REWRITTEN_TABLES,
    ]);
    expect(recorded).toHaveLength(REWRITTEN_TABLES.length);
    for (const row of recorded) expect(row).toMatchObject({ is_large: false, rewritten_at: NOW });
    const due = await tablesToRewrite(runner, new Date(NOW.getTime() + 20 * HOUR_MS), 4);
    expect(due.toSorted()).toEqual(REWRITTEN_TABLES.toSorted());
  });
});

test('a file is due exactly 20 hours after its last rewrite, also if a clock that was ahead recorded the rewrite', async () => {
  expect(await isDue('session', 20 * HOUR_MS)).toBe(true);
  expect(await isDue('session', 20 * HOUR_MS - 1)).toBe(false);
  expect(await isDue('session', -20 * HOUR_MS)).toBe(true);
});

test('the file of a large table is due exactly 21 days after its last rewrite, for two days only in LARGE_TABLE_HOUR', async () => {
  // The value is stored as it is, without compression.
  await harness.sql('alter table audit_event alter change set storage external');
  await harness.sql(
    `insert into audit_event (id, actor, action, change, at)
     select gen_random_uuid(), 'test', 'test', jsonb_build_object('value', repeat('x', $1::integer)), now()`,
    [LARGE_TABLE_BYTES],
  );
  expect(await isDue('audit_event', 21 * 24 * HOUR_MS)).toBe(true);
  expect(await isDue('audit_event', 21 * 24 * HOUR_MS - 1)).toBe(false);
  expect(await isDue('audit_event', 23 * 24 * HOUR_MS - 1, 4)).toBe(false);
  expect(await isDue('audit_event', 23 * 24 * HOUR_MS, 4)).toBe(true);
});

test('a rewrite is recorded, has a short lock timeout and restores the lock timeout of the run, also if it fails', async () => {
  await withRunner(async (runner) => {
    const query = runner.query.bind(runner);
    const lockTimeout = () => query('show lock_timeout');
    let duringRewrite: unknown;
    runner.query = async (sql: string, values?: unknown[]) => {
      if (sql.startsWith('vacuum')) duringRewrite = await lockTimeout();
      return query(sql, values);
    };
    await setRewrittenAt('session', new Date(0));
    await rewriteTable(runner, 'session', NOW);
    const recorded = await harness.sql(`select rewritten_at from file_rewrite where table_name = 'session'`);
    expect(recorded).toEqual([{ rewritten_at: NOW }]);
    expect(duringRewrite).toEqual([{ lock_timeout: `${LOCK_TIMEOUT_MS}ms` }]);
    expect(await lockTimeout()).toEqual([{ lock_timeout: '5s' }]);
    await expect(rewriteTable(runner, 'no_such_table', NOW)).rejects.toThrow('does not exist');
    expect(await lockTimeout()).toEqual([{ lock_timeout: '5s' }]);
  });
});

test('a table that only an earlier version has recorded is not rewritten', async () => {
  await harness.sql(`insert into file_rewrite values ('no_such_table', false, '2000-01-01')`);
  expect(await isDue('no_such_table', 1_000 * HOUR_MS)).toBe(false);
});

/** Tables without personal data, such as anonymous telemetry, counts, names of jobs and random bytes. */
const TABLES_WITHOUT_PERSONAL_DATA = [
  'event_recording',
  // Ids of licenses and activations, which lead to no person once their rows are erased.
  'outgoing_event',
  'telemetry',
  'telemetry_inbox',
  'telemetry_inbox_draining',
  'fleet_week',
  'fleet_cell',
  'fleet_latency',
  'crash_week',
  'crash_group_state',
  'staff_link',
  'staff_token',
  'passkey_challenge',
  'retention_run',
  'manifest',
  'database_identity',
  'license_key_secret_check',
  'repeated_erasure',
  'replaced_key',
  'schema_migration',
  'file_rewrite',
  'graphile_worker.migrations',
  'graphile_worker._private_tasks',
  'graphile_worker._private_job_queues',
  'graphile_worker._private_known_crontabs',
];

test('every table is rewritten or has no personal data', () => {
  const tables = [
    ...createRetentionPolicy({ taxRetentionYears: 10 }).map(({ table }) => table),
    ...Object.keys(EXEMPT_TABLES),
  ];
  expect([...REWRITTEN_TABLES, ...TABLES_WITHOUT_PERSONAL_DATA].toSorted()).toEqual(tables.toSorted());
});
