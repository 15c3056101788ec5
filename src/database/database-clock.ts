import type { Clock } from '../core/clock.js';
import { queryOne, type SqlConnection } from './sql.js';

/**
 * The error of an operation that would delete data while the time is uncertain, because a deletion cannot be undone. The time is
 * uncertain if the clocks of this machine and of the database differ (docs/decisions/0015), or if the clock of this machine has
 * jumped ahead (docs/decisions/0030).
 */
export class TimeUncertain extends Error {
  constructor() {
    super(
      'The clocks of this machine and of the database differ by more than an hour, or that of this machine has jumped ahead: nothing is ' +
        'deleted before the time is certain.',
    );
  }
}

/**
 * Whether a time that the clock of the service has just shown is certain: the clock of the database agrees with it, and the clock
 * of the service has not jumped ahead. If both run on one machine, a jump affects both clocks. The clock of the database is read
 * each time, because a clock may jump at any time.
 * @param at the time on which the caller's decision is based. It is compared instead of the current time, because the clock may
 *   have been set right since then
 */
export async function isTimeCertain(clock: Clock, database: SqlConnection, at: Date): Promise<boolean> {
  if (clock.hasJumpedAhead()) return false;
  return clock.agreesWith(await databaseTime(database), at);
}

/** Returns the time of the database's clock. */
export async function databaseTime(database: SqlConnection): Promise<Date> {
  const row = await queryOne<{ now: Date }>(database, 'select clock_timestamp() as now');
  return row.now;
}
