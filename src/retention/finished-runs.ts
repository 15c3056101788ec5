import type { Clock } from '../core/clock.js';
import { queryOne, type SqlConnection } from '../database/sql.js';

/**
 * Returns the SQL condition of a retention run that has finished. A run that starts after now had a clock that was ahead, and is
 * ignored.
 * @param now the parameter of the statement with the time
 */
export const hasFinished = (now: `$${number}`): string => `finished_at is not null and started_at <= ${now}`;

/**
 * Whether a run for its own start time (no `--as-of`) began within the last hour and has finished without a failure, on any
 * instance; false if the clock has jumped ahead.
 */
export async function hasRecentRun(database: SqlConnection, clock: Clock): Promise<boolean> {
  if (clock.hasJumpedAhead()) return false;
  const { is_recent } = await queryOne<{ is_recent: boolean }>(
    database,
    `select exists (
       select from retention_run
       where ${hasFinished('$1')} and started_at > $1::timestamptz - interval '1 hour'
         and as_of = started_at and failed = '{}') as is_recent`,
    [clock.now()],
  );
  return is_recent;
}
