import { formatDay, regionalForm, TIME_OF_DAY } from '../../shared/dates/dates.js';

const [MINUTE_MS, HOUR_MS, DAY_MS] = [60_000, 3_600_000, 86_400_000];
/** After so many days the day itself says more than their number. */
const MAX_RELATIVE_DAYS = 30;

// The support page is in English only.
const locale = regionalForm('en');
const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 0 });
const relative = new Intl.RelativeTimeFormat(locale);
/** Formats a difference of 0 as `now`. */
const now = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
const shortUtcDay = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', timeZone: 'UTC' });
const shortTime = new Intl.DateTimeFormat(locale, {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  ...TIME_OF_DAY,
});

/**
 * Formats how long ago a time was, or when it will be: `now`, `3 hours ago`, `in 5 minutes`, and after 30 days its day.
 * @param isPlanned whether the time may be in the future; if not, a time that is ahead of a slow device clock is shown as `now`
 */
export function formatAge(time: string, isPlanned: boolean): string {
  const untilTime = Date.parse(time) - Date.now();
  const difference = isPlanned ? untilTime : Math.min(untilTime, 0);
  const format = (unitMs: number, unit: Intl.RelativeTimeFormatUnit) =>
    relative.format(Math.trunc(difference / unitMs), unit);
  const age = Math.abs(difference);
  if (age < MINUTE_MS) return now.format(0, 'second');
  if (age < HOUR_MS) return format(MINUTE_MS, 'minute');
  if (age < DAY_MS) return format(HOUR_MS, 'hour');
  return age < MAX_RELATIVE_DAYS * DAY_MS ? format(DAY_MS, 'day') : formatDay(time);
}

/** Formats the day of a time in UTC without the year: `4 Jan`. */
export const formatShortUtcDay = (time: string) => shortUtcDay.format(new Date(time));

/** Formats a time for a table, in the reader's time zone: `20 Nov 2026, 13:00 UTC`. */
export const formatShortTime = (time: string) => shortTime.format(new Date(time));

/** Formats a fraction of 1: `37%`. */
export const formatPercent = (share: number) => percent.format(share);
