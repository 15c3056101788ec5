import { DAY_MS, utcDay } from '../core/clock.js';

/** A day so many months later; where that month is shorter, its last day. */
function plusMonths(day: Date, months: number): Date {
  const later = new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + months, 1));
  const last = new Date(Date.UTC(later.getUTCFullYear(), later.getUTCMonth() + 1, 0)).getUTCDate();
  later.setUTCDate(Math.min(day.getUTCDate(), last));
  return later;
}

/**
 * The first day (UTC, `YYYY-MM-DD`) whose rows stay on the day of `asOf`, where rows are kept `months` months: what is
 * of an earlier day leaves. Of 29 February, 24 months end on 28 February: nothing ever stays longer.
 */
export function firstDayKept(asOf: Date, months: number): string {
  const today = new Date(`${utcDay(asOf)}T00:00:00Z`);
  const day = plusMonths(today, -months);
  while (plusMonths(day, months) <= today) day.setTime(day.getTime() + DAY_MS);
  return utcDay(day);
}
