import { DAY_MS, utcDay } from '../core/clock.js';

/** Adds months to a day. If the target month has no such day, the result is its last day. */
function addMonths(day: Date, months: number): Date {
  const later = new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + months, 1));
  const last = new Date(Date.UTC(later.getUTCFullYear(), later.getUTCMonth() + 1, 0)).getUTCDate();
  later.setUTCDate(Math.min(day.getUTCDate(), last));
  return later;
}

/**
 * Returns the first day (UTC, `YYYY-MM-DD`) whose rows are still kept on the day of `asOf`, if rows are kept for `months`
 * months. For rows of 29 February, 24 months end on 28 February, so that no row is kept longer.
 */
export function firstDayKept(asOf: Date, months: number): string {
  const today = new Date(`${utcDay(asOf)}T00:00:00Z`);
  const day = addMonths(today, -months);
  // The periods of several days may end on the same day (of 28 and 29 February on the 28th), so each day whose period has ended is
  // skipped.
  while (addMonths(day, months) <= today) day.setTime(day.getTime() + DAY_MS);
  return utcDay(day);
}
