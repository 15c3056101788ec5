import { QueryRunner } from 'typeorm';
import { utcDay } from '../core/clock.js';
import { LOCK_TIMEOUT_MS, withLockRetries } from '../database/locks.js';
import { execute, insertedRows, queryOne } from '../database/sql.js';
import { createPartitions } from './partitions.js';

// `telemetry_waiting` is a view of both inboxes.
const FIND_WAITING = `
  select (select min(received_on) from telemetry_waiting where received_on < $1)::text as oldest,
         exists (select 1 from telemetry_inbox where received_on < $1) as is_due,
         exists (select 1 from telemetry_inbox_draining) as is_interrupted`;

/**
 * Moves the telemetry of past days from the inbox to `telemetry` in one transaction, in the order of the random ids. The position
 * of a moved row then reveals neither when it arrived nor which rows arrived before and after it (docs/privacy.md#telemetry,
 * docs/decisions/0020). The rows that an interrupted run left in `telemetry_inbox_draining` are moved first, in another
 * transaction.
 * @param asOf the time for which the retention run applies the policy, which an operator can choose; rows from before its day (UTC)
 *   are moved
 * @param now the current time; its month always gets a partition
 * @returns the number of moved rows
 */
export async function moveInbox(runner: QueryRunner, asOf: Date, now: Date): Promise<number> {
  const today = utcDay(asOf);
  // Dates are read as text: the driver would read them in the time zone of the process.
  const waiting = await queryOne<{
    oldest: string | null;
    is_due: boolean;
    is_interrupted: boolean;
  }>(runner, FIND_WAITING, [today]);
  const { oldest, is_due, is_interrupted } = waiting;
  const first = oldest === null ? now : new Date(Math.min(now.getTime(), Date.parse(oldest)));
  await createPartitions(runner, first, asOf > now ? asOf : now);
  const resumedRows = is_interrupted ? await moveDueRows(runner, today) : 0;
  if (!is_due) return resumedRows;
  await withLockRetries(() => execute(runner, SWAP_INBOXES));
  return resumedRows + (await moveDueRows(runner, today));
}

/**
 * Swaps the names of the two inboxes, so that new telemetry is stored in the empty one. Each gets the comment of its new name,
 * because the privacy page shows it. PostgreSQL runs the statements of one string in one transaction.
 */
const SWAP_INBOXES = `
  set local lock_timeout = ${LOCK_TIMEOUT_MS};
  lock table telemetry_inbox, telemetry_inbox_draining;
  alter table telemetry_inbox_draining rename to telemetry_inbox_swap;
  alter table telemetry_inbox rename to telemetry_inbox_draining;
  alter table telemetry_inbox_swap rename to telemetry_inbox;
  comment on table telemetry_inbox is 'Telemetry of today. It moves to telemetry after midnight (UTC).';
  comment on table telemetry_inbox_draining is
    'Telemetry of past days while it moves to telemetry, after midnight (UTC).'`;

const MOVE_DUE_ROWS =
  'insert into telemetry select * from telemetry_inbox_draining where received_on < $1 order by id';
const RETURN_TODAYS_ROWS =
  'insert into telemetry_inbox select * from telemetry_inbox_draining where received_on >= $1 order by id';

// Empties `telemetry_inbox_draining`: the rows of past days go to `telemetry`, and the rows of today back to the inbox, both in
// the order of their ids. The table is truncated, because deleted rows would remain in its file in the order of arrival.
// The statements name no columns: the three tables have the same columns, and a row keeps those that only a newer version
// of the service knows.
async function moveDueRows(runner: QueryRunner, today: string): Promise<number> {
  return runner.manager.transaction(async () => {
    // New rows go to `telemetry_inbox`. A writer that began before the swap, when the drained table had this name, waits for the
    // lock, and stores its row in the emptied table. The next run moves it, as after an interrupted run.
    await execute(runner, 'lock table telemetry_inbox_draining in share mode');
    const movedRows = await insertedRows(runner, MOVE_DUE_ROWS, [today]);
    await execute(runner, RETURN_TODAYS_ROWS, [today]);
    await execute(runner, 'truncate telemetry_inbox_draining');
    return movedRows;
  });
}
