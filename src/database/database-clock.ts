import type { Clock } from '../core/clock.js';
import { queryOne } from './sql.js';

/** Nothing is deleted by a clock that is wrong: what is deleted is gone (docs/decisions/0015, docs/decisions/0030). */
export class ClocksDiffer extends Error {
  constructor() {
    super(
      'The clocks here and of the database differ by more than an hour, or the one here has jumped ahead: nothing is ' +
        'deleted before the time is certain.',
    );
  }
}

/** A connection, a pool of them or a transaction. */
interface Asked {
  query(sql: string): Promise<unknown>;
}

/**
 * Whether it is certain what time it is: our clock and the database's agree, and ours has not jumped ahead, as both of one
 * machine would together. The database is asked each time: clocks jump.
 */
export async function clocksAgree(clock: Clock, database: Asked): Promise<boolean> {
  if (clock.hasJumpedAhead()) return false;
  return clock.agreesWith(await databaseTime(database));
}

/** What the database's clock says. */
export async function databaseTime(database: Asked): Promise<Date> {
  const row = await queryOne<{ now: Date }>(database, 'select clock_timestamp() as now');
  return row.now;
}
