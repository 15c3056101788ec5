import { setTimeout as pause } from 'node:timers/promises';
import { expect } from '@jest/globals';
import type pg from 'pg';
import type { Answer, Service } from './harness.js';
import { OpenTransaction } from './open-transaction.js';

/** Runs a function while another transaction locks a table, so that statements that need the table wait. */
export async function withTableLock<Result>(
  service: Service,
  table: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const lock = await OpenTransaction.begin(service, `lock table ${table} in access exclusive mode`);
  try {
    return await work();
  } finally {
    await lock.commit();
  }
}

// `pg_locks` lists the locks of every database. The databases of tests are copies, whose tables have the same ids, so the
// database is compared too.
const WAITING_LOCKS = `
  select 1 from pg_locks where not granted
  and database = (select oid from pg_database where datname = current_database())`;
/** Selects a row for each lock of a table for which a statement waits. */
export const waitingLocks = (table: string) => `${WAITING_LOCKS} and relation = '${table}'::regclass`;
/** Selects a row for each session that waits for an advisory lock; `$1` is its number in `LOCKS`. */
export const WAITING_ADVISORY_LOCKS = `${WAITING_LOCKS} and locktype = 'advisory' and objid = $1`;

const CANCEL_LOCK_WAITS = `
  select pg_cancel_backend(pid) from pg_stat_activity
  where datname = current_database() and application_name = 'mooring' and wait_event_type = 'Lock'`;

/**
 * Runs a function, and meanwhile cancels each statement of the service that waits for a lock, with the error of the time limit of a
 * request (57014). So no test has to wait for that limit, and statements that are only slow are not cancelled.
 * @param query runs a statement in the database of the service
 */
export async function cancelLockWaitsDuring<Result>(
  query: (sql: string) => Promise<unknown>,
  work: () => Promise<Result>,
): Promise<Result> {
  const over = new AbortController();
  const cancelling = (async () => {
    for (; !over.signal.aborted; await pause(5)) {
      // Inside a transaction PostgreSQL would show an old snapshot of the activity.
      await query('select pg_stat_clear_snapshot()');
      await query(CANCEL_LOCK_WAITS);
    }
  })();
  try {
    return await work();
  } finally {
    over.abort();
    await cancelling;
  }
}

/** Runs a function while a table is locked, so that requests that need the table fail as at their time limit, but at once. */
export async function whileLocked<Result>(
  service: Service,
  table: string,
  work: () => Promise<Result>,
): Promise<Result> {
  return withTableLock(service, table, () => cancelLockWaitsDuring((sql) => service.sql(sql), work));
}

/** Runs a function while a table does not exist, so that requests that need the table fail. */
export async function whileGone<Result>(
  service: Service,
  table: string,
  work: () => Promise<Result>,
): Promise<Result> {
  await service.sql(`alter table ${table} rename to renamed_by_test`);
  try {
    return await work();
  } finally {
    await service.sql(`alter table renamed_by_test rename to ${table}`);
  }
}

/**
 * Expects that a request is answered with 500 while a table does not exist, and with 503 while it is locked.
 * @param lockedTable the table that is locked, if it is another one
 */
export async function expectFailures(
  service: Service,
  table: string,
  request: () => Promise<Answer>,
  lockedTable = table,
): Promise<void> {
  const answers = [
    await whileGone(service, table, request),
    await whileLocked(service, lockedTable, request),
  ];
  expect(answers.map(({ status, json }) => [status, json.code, json.client_action])).toEqual([
    [500, 'internal_error', 'retry'],
    [503, 'unavailable', 'retry'],
  ]);
  expect(Number(answers[1]!.headers['retry-after'])).toBeGreaterThan(0);
}

/**
 * Reads every row of every table, including those of the job queue, as `table: row`.
 * @param hasSystem whether the tables of the system are read too: their statistics contain values of columns
 */
export async function everyRow(database: pg.Pool | pg.Client, { hasSystem = false } = {}): Promise<string[]> {
  const { rows: tables } = await database.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname <> 'information_schema' and ($1 or schemaname <> 'pg_catalog') order by 1`,
    [hasSystem],
  );
  const rows: string[] = [];
  for (const { name } of tables) {
    const { rows: all } = await database.query<{ row: string }>(
      `select t::text as row from ${name} t order by 1`,
    );
    rows.push(...all.map(({ row }) => `${name}: ${row}`));
  }
  return rows;
}

/**
 * Reads every row, to compare two moments. The names of the tasks are left out, because the worker of the service inserts them
 * while it starts.
 */
export const comparableRows = async (database: pg.Pool | pg.Client): Promise<string[]> =>
  (await everyRow(database)).filter((row) => !row.startsWith('graphile_worker._private_tasks:'));

/** The telemetry of all days: after midnight (UTC) a row moves from the inbox to `telemetry`. */
export const STORED_TELEMETRY = `(
  select uptime_hours from telemetry_inbox
  union all select uptime_hours from telemetry_inbox_draining
  union all select uptime_hours from telemetry) stored_telemetry`;
