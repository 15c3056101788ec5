import { CLOCK_TOLERANCE_MS } from '../core/clock.js';

/**
 * SQL condition: a row with `created_at` and `expires_at` is valid at a time. A row whose `created_at` is over an hour after this
 * time was created while a clock was ahead, and would be valid for much longer than its period (docs/decisions/0015).
 * @param at the placeholder of the time, such as `$2`
 */
export const isValidAt = (at: string) =>
  `expires_at > ${at} and created_at <= ${at}::timestamptz + interval '${CLOCK_TOLERANCE_MS} milliseconds'`;
