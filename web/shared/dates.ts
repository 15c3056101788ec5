import type { Forms } from '../../src/languages/messages.js';
import { pluralForm } from '../../src/languages/text.js';

/** The language of the page. Dates are in this language, like the texts, in the regional form of the reader, such as en-GB. */
const language = document.documentElement.lang;
const locale = navigator.languages.find((each) => each.split('-')[0] === language) ?? language;

const numberFormat = new Intl.NumberFormat(locale);
const pluralRules = new Intl.PluralRules(locale);
const dayWithoutYearFormat = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'long' });
const dayFormat = new Intl.DateTimeFormat(locale, { dateStyle: 'long' });
const utcDayFormat = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' });
const shortUtcDayFormat = new Intl.DateTimeFormat(locale, {
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
});
const TIME_OF_DAY = { hour: 'numeric', minute: '2-digit', timeZoneName: 'short' } as const;
const shortTimeFormat = new Intl.DateTimeFormat(locale, {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  ...TIME_OF_DAY,
});
const DAY_AND_TIME = { day: 'numeric', month: 'short', hour: 'numeric', minute: '2-digit' } as const;
const dayAndTimeWithoutYearFormat = new Intl.DateTimeFormat(locale, DAY_AND_TIME);
const dayAndTimeFormat = new Intl.DateTimeFormat(locale, { ...DAY_AND_TIME, year: 'numeric' });
const relativeFormat = new Intl.RelativeTimeFormat(locale);
/** It has a word for this moment. */
const nowFormat = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
const [MINUTE_MS, HOUR_MS, DAY_MS] = [60_000, 3_600_000, 86_400_000];
/** After so many days the day itself says more than their number. */
const MAX_RELATIVE_DAYS = 30;
const percentFormat = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 0 });
const timeFormat = new Intl.DateTimeFormat(locale, {
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  ...TIME_OF_DAY,
});

export const formatNumber = (value: number) => numberFormat.format(value);

/** Returns the form for a count, with the count: `plural(2, { one: '# machine', other: '# machines' })` is `2 machines`. */
export const plural = (count: number, forms: Forms) =>
  pluralForm(forms, count, pluralRules, formatNumber(count));

/** Formats the day of a time in the reader's time zone: `14 May`, with the year unless it is the current one. */
export function formatDay(time: string): string {
  const date = new Date(time);
  return (isInCurrentYear(date) ? dayWithoutYearFormat : dayFormat).format(date);
}

/** Formats a time in the reader's time zone, without naming the zone: `20 Nov, 13:00`, with the year unless it is the current one. */
export function formatDayAndTime(time: string): string {
  const date = new Date(time);
  return (isInCurrentYear(date) ? dayAndTimeWithoutYearFormat : dayAndTimeFormat).format(date);
}

const isInCurrentYear = (date: Date) => date.getFullYear() === new Date().getFullYear();

/** Formats how long ago a time was, or when it will be: `now`, `3 hours ago`, `in 5 minutes`, and after 30 days its day. */
export function formatAge(time: string): string {
  const difference = Date.parse(time) - Date.now();
  const format = (unitMs: number, unit: Intl.RelativeTimeFormatUnit) =>
    relativeFormat.format(Math.trunc(difference / unitMs), unit);
  const age = Math.abs(difference);
  if (age < MINUTE_MS) return nowFormat.format(0, 'second');
  if (age < HOUR_MS) return format(MINUTE_MS, 'minute');
  if (age < DAY_MS) return format(HOUR_MS, 'hour');
  return age < MAX_RELATIVE_DAYS * DAY_MS ? format(DAY_MS, 'day') : formatDay(time);
}

/** Formats the day of a time in UTC: `4 January 2027`. It is the same day for all readers, and in the mails. */
export const formatUtcDay = (time: string) => utcDayFormat.format(new Date(time));

/** Formats the day of a time in UTC without the year: `4 Jan`. */
export const formatShortUtcDay = (time: string) => shortUtcDayFormat.format(new Date(time));

/** Formats a time for a table, in the reader's time zone: `20 Nov 2026, 13:00 UTC`. */
export const formatShortTime = (time: string) => shortTimeFormat.format(new Date(time));

/** Formats a fraction of 1: `37%`. */
export const formatPercent = (share: number) => percentFormat.format(share);

/** Formats a time in the reader's time zone: `20 November 2026 at 13:00 UTC`. */
export const formatTime = (time: string) => timeFormat.format(new Date(time));
