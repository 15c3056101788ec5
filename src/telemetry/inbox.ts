import { setTimeout as wait } from 'node:timers/promises';
import { QueryRunner } from 'typeorm';
import { utcDay } from '../core/clock.js';
import { makePartitions } from './partitions.js';

const WAITING = `
  select (select min(received_on) from telemetry_waiting where received_on < $1)::text as oldest,
         exists (select 1 from telemetry_inbox where received_on < $1) as is_due,
         exists (select 1 from telemetry_moving) as is_cut_short`;

/**
 * Moves the past days' telemetry out of the inbox: in the order of the random ids and in one transaction, so that from
 * the next day on a row's place tells nothing of when it came or with whom (privacy, Telemetry; decision 0020).
 * @param now the clock's own moment: whatever day it runs for, that month has a place for its rows
 * @returns how many rows
 */
export async function moveInbox(runner: QueryRunner, asOf: Date, now: Date): Promise<number> {
  const today = utcDay(asOf);
  // As text: the driver would read a date in the process's own time zone.
  const [waiting] = (await runner.query(WAITING, [today])) as {
    oldest: string | null;
    is_due: boolean;
    is_cut_short: boolean;
  }[];
  const { oldest, is_due, is_cut_short } = waiting!;
  const first = oldest === null ? now : new Date(Math.min(now.getTime(), Date.parse(oldest)));
  await makePartitions(runner, first, asOf > now ? asOf : now);
  const left = is_cut_short ? await move(runner, today) : 0;
  if (!is_due) return left;
  await changeInboxes(runner);
  return left + (await move(runner, today));
}

/** The locks are asked for no longer than this at a time: whoever sends telemetry meanwhile waits behind them. */
const LOCK_MS = 200;
const ATTEMPTS = 20;

/** From here on telemetry is stored in the other inbox, which is empty. */
async function changeInboxes(runner: QueryRunner): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      // One string is one transaction.
      await runner.query(`
        set local lock_timeout = ${LOCK_MS};
        lock table telemetry_inbox, telemetry_moving;
        alter table telemetry_moving rename to telemetry_other;
        alter table telemetry_inbox rename to telemetry_moving;
        alter table telemetry_other rename to telemetry_inbox`);
      return;
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
      await wait(LOCK_MS);
    }
  }
}

const MOVE = `
  with moved as (insert into telemetry select * from telemetry_moving where received_on < $1 order by id returning 1)
  select count(*)::integer as rows from moved`;
const PUT_BACK =
  'insert into telemetry_inbox select * from telemetry_moving where received_on >= $1 order by id';

// What came since midnight goes back, in no order of its coming either. Then the file is empty: rows that were deleted
// would lie in it, dead and in the order of their arrival, for whoever can read files.
async function move(runner: QueryRunner, today: string): Promise<number> {
  return runner.manager.transaction(async () => {
    // Nobody stores here any more; were there one, he would wait.
    await runner.query('lock table telemetry_moving in share mode');
    const [moved] = (await runner.query(MOVE, [today])) as { rows: number }[];
    await runner.query(PUT_BACK, [today]);
    await runner.query('truncate telemetry_moving');
    return moved!.rows;
  });
}
