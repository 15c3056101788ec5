import { setTimeout as wait } from 'node:timers/promises';
import { QueryRunner } from 'typeorm';
import { DAY_MS } from '../clock.js';
import { firstDayKept } from './cutoff.js';
import { dropPartition, partitionOf, pastPartitions } from './partitions.js';
import type { Rule } from './policy.js';

/** Rows deleted by one statement: few enough that nobody waits for their locks. */
const BATCH = 5_000;

/** The moment or day (as SQL reads it) before which rows leave. */
function boundary({ months, days }: Rule, asOf: Date): string {
  if (months !== undefined) return firstDayKept(asOf, months);
  return new Date(asOf.getTime() - (days ?? 0) * DAY_MS).toISOString();
}

const leaving = ({ from, only, months }: Rule) =>
  `${from} < $1::${months === undefined ? 'timestamptz' : 'date'}${only ? ` and ${only}` : ''}`;

/** How many rows would leave; nothing is changed. */
export async function countLeaving(runner: QueryRunner, rule: Rule, asOf: Date): Promise<number> {
  const sql = `select count(*)::integer as rows from ${rule.table} where ${leaving(rule)}`;
  const [counted] = (await runner.query(sql, [boundary(rule, asOf)])) as { rows: number }[];
  return counted!.rows;
}

/** Deletes what leaves, batch by batch, each in a transaction of its own. @returns how many rows */
export async function deleteLeaving(runner: QueryRunner, rule: Rule, asOf: Date): Promise<number> {
  if (rule.table !== 'telemetry') return inBatches(runner, rule, asOf);
  const firstKept = boundary(rule, asOf);
  const dropped = await dropPast(runner, firstKept);
  // What is left of the past stands in the month that is partly kept.
  const edge = partitionOf(firstKept);
  const [found] = (await runner.query('select to_regclass($1) is not null as there', [edge])) as {
    there: boolean;
  }[];
  return dropped + (found!.there ? await inBatches(runner, { ...rule, table: edge }, asOf) : 0);
}

async function inBatches(runner: QueryRunner, rule: Rule, asOf: Date): Promise<number> {
  const sql = rule.first ? withFirst(rule, rule.first) : byPlace(rule);
  for (let deleted = 0; ;) {
    const began = performance.now();
    const [batch] = (await runner.query(sql, [boundary(rule, asOf)])) as { rows: number }[];
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
  for (const partition of await pastPartitions(runner, firstKept)) {
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
