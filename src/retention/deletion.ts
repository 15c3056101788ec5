import { setTimeout as wait } from 'node:timers/promises';
import { QueryRunner } from 'typeorm';
import { DAY_MS } from '../core/clock.js';
import { affectedRows, queryOne } from '../database/sql.js';
import { firstDayKept } from './cutoff.js';
import { dropPartition, partitionOf, findExpiredPartitions } from '../telemetry/partitions.js';
import type { RetentionRule } from './policy.js';

/** The times of a run: the time that it applies the policy for, and the present. */
interface RunTimes {
  readonly asOf: Date;
  readonly now: Date;
}

/** The number of rows that one statement deletes, small enough that other transactions do not wait long for locks. */
const DELETE_BATCH_ROWS = 5_000;

/** The time between the end of an activation and the deletion of its license, in which a wrong run can be noticed. */
const GUARD_DAYS = 14;

/** Returns the time or the day, as SQL text, before which rows are due for deletion. */
function computeCutoff({ months, days }: RetentionRule, asOf: Date): string {
  if (months !== undefined) return firstDayKept(asOf, months);
  return new Date(asOf.getTime() - (days ?? 0) * DAY_MS).toISOString();
}

const formatDueCondition = ({ keptFrom, condition }: RetentionRule, placeholder = '$1') =>
  `${keptFrom} < ${placeholder}::timestamptz${condition ? ` and ${condition}` : ''}`;

const formatDeletableCondition = (rule: RetentionRule) =>
  formatDueCondition(rule) + (rule.guard ? ` and ${rule.guard}` : '');

// The guard uses the earlier of both times, so that an `asOf` in the future does not shorten it.
function createParameters(rule: RetentionRule, { asOf, now }: RunTimes): unknown[] {
  const guardFrom = Math.min(asOf.getTime(), now.getTime());
  return [computeCutoff(rule, asOf), ...(rule.guard ? [new Date(guardFrom - GUARD_DAYS * DAY_MS)] : [])];
}

/**
 * Creates the query for the `keptFrom` day of the oldest row that is due, even if a guard prevents its deletion. If no row is
 * due, the query reads only the index on `keptFrom`.
 * @param placeholder of the value, such as `$1`
 */
export function createOldestDueQuery(
  rule: RetentionRule,
  asOf: Date,
  placeholder: string,
): { sql: string; value: string } {
  const sql = `select (min(${rule.keptFrom}))::date::text from ${rule.table} where ${formatDueCondition(rule, placeholder)}`;
  return { sql, value: computeCutoff(rule, asOf) };
}

/** Counts the rows that `deleteExpired` would delete. */
export async function countDeletable(
  runner: QueryRunner,
  rule: RetentionRule,
  times: RunTimes,
): Promise<number> {
  const sql = `select count(*)::integer as rows from ${rule.table} where ${formatDeletableCondition(rule)}`;
  const counted = await queryOne<{ rows: number }>(runner, sql, createParameters(rule, times));
  return counted.rows;
}

/** Deletes the rows that are due, in batches, each in a transaction of its own. @returns the number of rows */
export async function deleteExpired(
  runner: QueryRunner,
  rule: RetentionRule,
  times: RunTimes,
): Promise<number> {
  if (rule.table !== 'telemetry') return deleteInBatches(runner, rule, times);
  const firstKept = computeCutoff(rule, times.asOf);
  const dropped = await dropPastPartitions(runner, firstKept);
  // The other rows that are due are in the partition of the month that contains the cutoff.
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
  const oldest = await queryOne<{ day: string | null }>(runner, sql);
  return oldest.day;
}

// Dropping the partition of a month takes the same time for any number of rows.
async function dropPastPartitions(runner: QueryRunner, firstKept: string): Promise<number> {
  let rows = 0;
  for (const partition of await findExpiredPartitions(runner, firstKept)) {
    rows += await estimateRows(runner, partition.name);
    await dropPartition(runner, partition);
  }
  return rows;
}

// PostgreSQL's estimate, if there is one, avoids reading a partition that is only dropped.
async function estimateRows(runner: QueryRunner, table: string): Promise<number> {
  const estimate = await queryOne<{ rows: number }>(
    runner,
    'select reltuples::integer as rows from pg_class where oid = $1::regclass',
    [table],
  );
  if (estimate.rows >= 0) return estimate.rows;
  const counted = await queryOne<{ rows: number }>(runner, `select count(*)::integer as rows from ${table}`);
  return counted.rows;
}

const createDeleteByCtid = (rule: RetentionRule) => `
  delete from ${rule.table}
  where ctid = any(array(select ctid from ${rule.table} where ${formatDeletableCondition(rule)} limit ${DELETE_BATCH_ROWS}))`;

const createDeleteById = (rule: RetentionRule, beforeDelete: string) => `
  with expired as (select id from ${rule.table} where ${formatDeletableCondition(rule)} limit ${DELETE_BATCH_ROWS} for update skip locked),
       prepared as (${beforeDelete})
  delete from ${rule.table} where id in (select id from expired)`;
