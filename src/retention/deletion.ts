import { setTimeout as wait } from 'node:timers/promises';
import { QueryRunner } from 'typeorm';
import { DAY_MS } from '../core/clock.js';
import { affectedRows, queryOne } from '../database/sql.js';
import { firstDayKept } from './cutoff.js';
import {
  dropPartition,
  findExpiredPartitions,
  finishInterruptedDetach,
  partitionOf,
} from '../telemetry/partitions.js';
import type { RetentionRule } from './policy.js';

/** The times of a run: the time for which it applies the policy, and the current time. */
interface RunTimes {
  readonly asOf: Date;
  readonly now: Date;
}

/** The most rows of a table that one statement deletes, so few that other transactions do not wait long for locks. */
const DELETE_BATCH_ROWS = 5_000;

/**
 * A license is deleted at the earliest this many days after its last activation ended, so that staff can notice if a
 * retention run ended activations by mistake (docs/decisions/0023).
 */
const MIN_DAYS_AFTER_ACTIVATION_END = 14;

/** Returns the time or the day, as SQL text, before which rows are due for deletion. */
function computeCutoff({ months, days }: RetentionRule, asOf: Date): string {
  if (months !== undefined) return firstDayKept(asOf, months);
  return new Date(asOf.getTime() - (days ?? 0) * DAY_MS).toISOString();
}

const formatDueCondition = ({ keptFrom, dueCondition }: RetentionRule, placeholder = '$1') =>
  `${keptFrom} < ${placeholder}::timestamptz${dueCondition ? ` and ${dueCondition}` : ''}`;

const formatDeletableCondition = (rule: RetentionRule) =>
  formatDueCondition(rule) + (rule.deleteCondition ? ` and ${rule.deleteCondition}` : '');

// The 14 days are counted back from the earlier of `asOf` and `now`, so that an `asOf` in the future does not shorten them.
function createParameters(rule: RetentionRule, { asOf, now }: RunTimes): unknown[] {
  const earlier = Math.min(asOf.getTime(), now.getTime());
  const latestActivationEnd = new Date(earlier - MIN_DAYS_AFTER_ACTIVATION_END * DAY_MS);
  return [computeCutoff(rule, asOf), ...(rule.deleteCondition ? [latestActivationEnd] : [])];
}

/**
 * Creates the query for the `keptFrom` day of the oldest row that is due, even if `deleteCondition` prevents its deletion. If
 * no row is due, it reads only the index on `keptFrom`; for the job queue, which has no such index, it reads the table.
 * @returns the SQL, and the value of its placeholder
 * @param placeholder the SQL placeholder of the returned value, such as `$1`
 */
export function createOldestDueQuery(
  rule: RetentionRule,
  asOf: Date,
  placeholder: string,
): { sql: string; value: string } {
  const sql = `select (min(${rule.keptFrom}))::date::text from ${rule.table} where ${formatDueCondition(rule, placeholder)}`;
  return { sql, value: computeCutoff(rule, asOf) };
}

/** Counts the rows that `deleteExpired` would delete, including rows that the run would first move to the table. */
export async function countDeletable(
  runner: QueryRunner,
  rule: RetentionRule,
  times: RunTimes,
): Promise<number> {
  const tables = rule.movedFrom ? [rule.table, rule.movedFrom] : [rule.table];
  const counts = tables.map(
    (table) => `(select count(*) from ${table} where ${formatDeletableCondition(rule)})`,
  );
  const sql = `select (${counts.join(' + ')})::float8 as rows`;
  const { rows } = await queryOne<{ rows: number }>(runner, sql, createParameters(rule, times));
  return rows;
}

/**
 * Deletes the rows that are due, in batches, each in a transaction of its own. Whole months of telemetry are dropped.
 * @returns the number of deleted rows, which may be an estimate for telemetry
 */
export async function deleteExpired(
  runner: QueryRunner,
  rule: RetentionRule,
  times: RunTimes,
): Promise<number> {
  if (rule.table !== 'telemetry') return deleteInBatches(runner, rule, times);
  const firstKept = computeCutoff(rule, times.asOf);
  const dropped = await dropPastPartitions(runner, firstKept);
  // After this, all rows that are due are in the partition of the month that contains the cutoff.
  const partition = partitionOf(firstKept);
  const { exists } = await queryOne<{ exists: boolean }>(
    runner,
    'select to_regclass($1) is not null as exists',
    [partition],
  );
  return dropped + (exists ? await deleteInBatches(runner, { ...rule, table: partition }, times) : 0);
}

async function deleteInBatches(runner: QueryRunner, rule: RetentionRule, times: RunTimes): Promise<number> {
  const sql = rule.beforeDelete ? createDeleteById(rule, rule.beforeDelete) : createDeleteByCtid(rule);
  for (let deleted = 0; ;) {
    const startedAt = performance.now();
    const batch = await affectedRows(runner, sql, createParameters(rule, times));
    deleted += batch;
    if (batch < DELETE_BATCH_ROWS) return deleted;
    // The pause is as long as the batch took: at least half of the time is left to other database clients.
    await wait(performance.now() - startedAt);
  }
}

/** Finds the `keptFrom` day of the oldest row, regardless of other conditions; null if there is none. */
export async function findOldestDay(
  runner: QueryRunner,
  { table, keptFrom }: RetentionRule,
): Promise<string | null> {
  const sql = `select (min(${keptFrom}))::date::text as day from ${table}`;
  const { day } = await queryOne<{ day: string | null }>(runner, sql);
  return day;
}

// Dropping the partition of a month takes the same time for any number of rows.
async function dropPastPartitions(runner: QueryRunner, firstKept: string): Promise<number> {
  let rows = 0;
  await finishInterruptedDetach(runner);
  for (const partition of await findExpiredPartitions(runner, firstKept)) {
    rows += await estimateRows(runner, partition.name);
    await dropPartition(runner, partition);
  }
  return rows;
}

// Returns PostgreSQL's estimate if there is one, because a partition that is about to be dropped should not be read.
async function estimateRows(runner: QueryRunner, table: string): Promise<number> {
  const estimate = await queryOne<{ rows: number }>(
    runner,
    'select reltuples::float8 as rows from pg_class where oid = $1::regclass',
    [table],
  );
  if (estimate.rows >= 0) return estimate.rows;
  const count = await queryOne<{ rows: number }>(runner, `select count(*)::float8 as rows from ${table}`);
  return count.rows;
}

const createDeleteByCtid = (rule: RetentionRule) => `
  delete from ${rule.table}
  where ctid = any(array(select ctid from ${rule.table} where ${formatDeletableCondition(rule)} limit ${DELETE_BATCH_ROWS}))`;

const createDeleteById = (rule: RetentionRule, beforeDelete: string) => `
  with expired as (select id from ${rule.table} where ${formatDeletableCondition(rule)} limit ${DELETE_BATCH_ROWS} for update skip locked),
       prepared as (${beforeDelete})
  delete from ${rule.table} where id in (select id from expired)`;
