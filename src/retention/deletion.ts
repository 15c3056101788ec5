import { setTimeout as wait } from 'node:timers/promises';
import { QueryRunner } from 'typeorm';
import { DAY_MS } from '../core/clock.js';
import { firstDayKept } from './cutoff.js';
import { dropPartition, partitionOf, findExpiredPartitions } from '../telemetry/partitions.js';
import type { Rule } from './policy.js';

/** What a run goes by: the moment it runs for, and the clock's own. */
interface Moments {
  readonly asOf: Date;
  readonly now: Date;
}

/** Rows deleted by one statement: few enough that nobody waits for their locks. */
const BATCH = 5_000;

/** Time between the end of an activation and the deletion of its license, in which a wrong run can be noticed. */
const GUARD_DAYS = 14;

/** The moment or day (as SQL reads it) before which rows leave. */
function boundary({ months, days }: Rule, asOf: Date): string {
  if (months !== undefined) return firstDayKept(asOf, months);
  return new Date(asOf.getTime() - (days ?? 0) * DAY_MS).toISOString();
}

const due = ({ from, only }: Rule, place = '$1') =>
  `${from} < ${place}::timestamptz${only ? ` and ${only}` : ''}`;

const leaving = (rule: Rule) => due(rule) + (rule.guard ? ` and ${rule.guard}` : '');

// By the clock as well: no `as_of` in the future shortens the time that a guard gives.
function valuesOf(rule: Rule, { asOf, now }: Moments): unknown[] {
  const present = Math.min(asOf.getTime(), now.getTime());
  return [boundary(rule, asOf), ...(rule.guard ? [new Date(present - GUARD_DAYS * DAY_MS)] : [])];
}

/**
 * Asks for the day from which the oldest row counts that is due by a moment, whatever keeps it from being deleted. Where
 * no row is due, this reads no row, only the index on `from`.
 * @param place of the value, such as `$1`
 */
export function oldestDue(rule: Rule, asOf: Date, place: string): { sql: string; value: string } {
  const sql = `select (min(${rule.from}))::date::text from ${rule.table} where ${due(rule, place)}`;
  return { sql, value: boundary(rule, asOf) };
}

/** How many rows would leave; nothing is changed. */
export async function countLeaving(runner: QueryRunner, rule: Rule, moments: Moments): Promise<number> {
  const sql = `select count(*)::integer as rows from ${rule.table} where ${leaving(rule)}`;
  const [counted] = (await runner.query(sql, valuesOf(rule, moments))) as { rows: number }[];
  return counted!.rows;
}

/** Deletes what leaves, batch by batch, each in a transaction of its own. @returns how many rows */
export async function deleteLeaving(runner: QueryRunner, rule: Rule, moments: Moments): Promise<number> {
  if (rule.table !== 'telemetry') return inBatches(runner, rule, moments);
  const firstKept = boundary(rule, moments.asOf);
  const dropped = await dropPast(runner, firstKept);
  // What is left of the past stands in the month that is partly kept.
  const edge = partitionOf(firstKept);
  const [found] = (await runner.query('select to_regclass($1) is not null as there', [edge])) as {
    there: boolean;
  }[];
  return dropped + (found!.there ? await inBatches(runner, { ...rule, table: edge }, moments) : 0);
}

async function inBatches(runner: QueryRunner, rule: Rule, moments: Moments): Promise<number> {
  const sql = rule.first ? withFirst(rule, rule.first) : byPlace(rule);
  for (let deleted = 0; ;) {
    const began = performance.now();
    const [batch] = (await runner.query(sql, valuesOf(rule, moments))) as { rows: number }[];
    deleted += batch!.rows;
    if (batch!.rows < BATCH) return deleted;
    // As long again is left to those whom the database answers meanwhile.
    await wait(performance.now() - began);
  }
}

/** The day that the oldest row is counted from, whatever else keeps it; null where none is. */
export async function oldestDay(runner: QueryRunner, { table, from }: Rule): Promise<string | null> {
  const sql = `select (min(${from}))::date::text as day from ${table}`;
  const [oldest] = (await runner.query(sql)) as { day: string | null }[];
  return oldest!.day;
}

// A month that is wholly past goes at once, however many its rows.
async function dropPast(runner: QueryRunner, firstKept: string): Promise<number> {
  let rows = 0;
  for (const partition of await findExpiredPartitions(runner, firstKept)) {
    rows += await rowsOf(runner, partition.name);
    await dropPartition(runner, partition);
  }
  return rows;
}

// An estimate, where PostgreSQL has one: nobody needs to read a month in order to drop it.
async function rowsOf(runner: QueryRunner, table: string): Promise<number> {
  const [known] = (await runner.query(
    'select reltuples::integer as rows from pg_class where oid = $1::regclass',
    [table],
  )) as { rows: number }[];
  if (known!.rows >= 0) return known!.rows;
  const [counted] = (await runner.query(`select count(*)::integer as rows from ${table}`)) as {
    rows: number;
  }[];
  return counted!.rows;
}

const byPlace = (rule: Rule) => `
  with gone as (delete from ${rule.table}
    where ctid = any(array(select ctid from ${rule.table} where ${leaving(rule)} limit ${BATCH})) returning 1)
  select count(*)::integer as rows from gone`;

const withFirst = (rule: Rule, first: string) => `
  with gone as (select id from ${rule.table} where ${leaving(rule)} limit ${BATCH} for update skip locked),
       first as (${first}),
       rest as (delete from ${rule.table} where id in (select id from gone) returning 1)
  select count(*)::integer as rows from rest`;
