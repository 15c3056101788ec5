import type { Clock } from '../core/clock.js';
import { queryOne, type SqlConnection } from '../database/sql.js';

/**
 * Returns the SQL condition of a retention run that has finished. A run that starts after now had a clock that was ahead, and is
 * ignored.
 * @param now the parameter of the statement with the time
 */
export const hasFinished = (now: `$${number}`): string => `finished_at is not null and started_at <= ${now}`;

/** The minute of each hour at which a run is due. */
export const RUN_MINUTE = 5;

/**
 * Whether the hourly run that was due last has taken place, on any instance: a run for its own start time (no `--as-of`) began at
 * or after the time at which it was due, and has finished without a failure. False if the clock has jumped ahead.
 */
export async function hasLatestRun(database: SqlConnection, clock: Clock): Promise<boolean> {
  if (clock.hasJumpedAhead()) return false;
  const now = clock.now();
  const { has_run } = await queryOne<{ has_run: boolean }>(
    database,
    `select exists (
       select from retention_run
       where ${hasFinished('$1')} and started_at >= $2 and as_of = started_at and failed = '{}') as has_run`,
    [now, latestDueTime(now)],
  );
  return has_run;
}

function latestDueTime(now: Date): Date {
  const due = new Date(now);
  due.setUTCMinutes(RUN_MINUTE, 0, 0);
  if (due > now) due.setUTCHours(due.getUTCHours() - 1);
  return due;
}
