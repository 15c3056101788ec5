import { setTimeout as wait } from 'node:timers/promises';
import { QueryRunner } from 'typeorm';
import { utcDay } from '../clock.js';
import { makePartitions } from './partitions.js';

/**
 * Moves the past days' telemetry out of the inbox: in the order of the random ids and in one transaction, so that from
 * the next day on a row's place tells nothing of when it came or with whom (privacy, Telemetry).
 * @param now the clock's own moment: whatever day it runs for, that month has a place for its rows
 * @returns how many rows
 */
export async function moveInbox(runner: QueryRunner, asOf: Date, now: Date): Promise<number> {
  const today = utcDay(asOf);
  // As text: the driver would read a date in the process's own time zone.
  const [inbox] = (await runner.query(
    'select min(received_on)::text as oldest from telemetry_inbox where received_on < $1',
    [today],
  )) as { oldest: string | null }[];
  const first = inbox!.oldest === null ? now : new Date(Math.min(now.getTime(), Date.parse(inbox!.oldest)));
  await makePartitions(runner, first, asOf > now ? asOf : now);
  if (!inbox!.oldest) return 0;
  const [moved] = (await runner.query(
    `with past as (delete from telemetry_inbox where received_on < $1 returning *),
          moved as (insert into telemetry select * from past order by id returning 1)
     select count(*)::int as rows from moved`,
    [today],
  )) as { rows: number }[];
  return moved!.rows;
}

/** The lock is asked for no longer than this at a time: whoever sends telemetry meanwhile waits behind it. */
const LOCK_MS = 200;
const ATTEMPTS = 20;

// Where the last run could not, or was cut short, there is something left to do.
const LAST_FAILED = `
  select finished_at is null or 'telemetry_inbox' = any(failed) as failed
  from retention_run where id <> $1 order by started_at desc limit 1`;

/**
 * Writes the inbox's file anew after rows have moved: they would lie in it, dead and in the order of their arrival, for
 * whoever can read files. What is left in it came since midnight.
 * @param runId of this run
 */
export async function rewriteInbox(runner: QueryRunner, runId: string, rowsMoved: number): Promise<void> {
  const [last] = (await runner.query(LAST_FAILED, [runId])) as { failed: boolean }[];
  if (rowsMoved === 0 && !last?.failed) return;
  await runner.query(`set lock_timeout = ${LOCK_MS}`);
  try {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await runner.query('vacuum full telemetry_inbox');
        return;
      } catch (error) {
        if (attempt === ATTEMPTS) throw error;
        await wait(LOCK_MS);
      }
    }
  } finally {
    await runner.query("set lock_timeout = '5s'");
  }
}
