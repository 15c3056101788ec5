import { CLOCK_TOLERANCE_MS } from '../core/clock.js';

/**
 * SQL condition: a stored time is over an hour after a time, so a clock was ahead when it was stored (docs/decisions/0015).
 * @param at the placeholder of the time, such as `$2`
 */
const isAhead = (time: string, at: string) =>
  `${time} > ${at}::timestamptz + interval '${CLOCK_TOLERANCE_MS} milliseconds'`;

/**
 * As `isAhead`, but the stored time must be ahead of the clock of the database too. It is for decisions that cannot be undone: if
 * only the clock of the service is behind, a correct time does not count as ahead.
 */
export const isAheadOfBothClocks = (time: string, at: string) =>
  isAhead(time, `greatest(${at}::timestamptz, now())`);

/**
 * SQL condition: a row with `created_at` and `expires_at` is valid at a time. A row whose `created_at` is over an hour after this
 * time was created while a clock was ahead, and would be valid for much longer than its period (docs/decisions/0015).
 * @param at the placeholder of the time, such as `$2`
 */
export const isValidAt = (at: string) => `expires_at > ${at} and not (${isAhead('created_at', at)})`;
