import type { Forms } from '../../../src/languages/messages.js';
import { canonicalTag } from '../../../src/languages/tags.js';
import { pluralForm } from '../../../src/languages/text.js';

const TIME_OF_DAY = { hour: 'numeric', minute: '2-digit', timeZoneName: 'short' } as const;
const [MINUTE_MS, HOUR_MS, DAY_MS] = [60_000, 3_600_000, 86_400_000];
/** After so many days the day itself says more than their number. */
const MAX_RELATIVE_DAYS = 30;

function createFormats(language: string) {
  const locale = regionalForm(language);
  const days = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(locale, options);
  return {
    language,
    number: new Intl.NumberFormat(locale),
    percent: new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 0 }),
    plural: new Intl.PluralRules(locale),
    dayWithoutYear: days({ day: 'numeric', month: 'long' }),
    day: days({ dateStyle: 'long' }),
    relative: new Intl.RelativeTimeFormat(locale),
    /** It has a word for this moment. */
    now: new Intl.RelativeTimeFormat(locale, { numeric: 'auto' }),
    utcDay: days({ dateStyle: 'long', timeZone: 'UTC' }),
    shortUtcDay: days({ day: 'numeric', month: 'short', timeZone: 'UTC' }),
    shortTime: days({ day: 'numeric', month: 'short', year: 'numeric', ...TIME_OF_DAY }),
    time: days({ day: 'numeric', month: 'long', year: 'numeric', ...TIME_OF_DAY }),
  };
}

/** Dates are in the language of the page, in the regional form of the reader, such as `en-GB`. */
function regionalForm(language: string): string {
  const tags = navigator.languages.flatMap((tag) => canonicalTag(tag) ?? []);
  return tags.find((tag) => tag === language || tag.startsWith(`${language}-`)) ?? language;
}

let cached: ReturnType<typeof createFormats> | undefined;
/** The formats of the language of the page, which its reader can change. */
function formats() {
  const { lang } = document.documentElement;
  if (cached?.language !== lang) cached = createFormats(lang);
  return cached;
}

export const formatNumber = (value: number) => formats().number.format(value);

/** Returns the form for a count, with the count: `plural(2, { one: '# machine', other: '# machines' })` is `2 machines`. */
export const plural = (count: number, forms: Forms) =>
  pluralForm(forms, count, formats().plural, formatNumber(count));

/** Formats the day of a time in the reader's time zone: `14 May`, with the year unless it is the current one. */
export function formatDay(time: string): string {
  const date = new Date(time);
  const { dayWithoutYear, day } = formats();
  return (date.getFullYear() === new Date().getFullYear() ? dayWithoutYear : day).format(date);
}

/**
 * Formats how long ago a time was, or when it will be: `now`, `3 hours ago`, `in 5 minutes`, and after 30 days its day.
 * @param isPlanned whether the time may be in the future; a past event seems to be so where the device's clock is slow
 */
export function formatAge(time: string, isPlanned: boolean): string {
  const untilTime = Date.parse(time) - Date.now();
  const difference = isPlanned ? untilTime : Math.min(untilTime, 0);
  const format = (unitMs: number, unit: Intl.RelativeTimeFormatUnit) =>
    formats().relative.format(Math.trunc(difference / unitMs), unit);
  const age = Math.abs(difference);
  if (age < MINUTE_MS) return formats().now.format(0, 'second');
  if (age < HOUR_MS) return format(MINUTE_MS, 'minute');
  if (age < DAY_MS) return format(HOUR_MS, 'hour');
  return age < MAX_RELATIVE_DAYS * DAY_MS ? format(DAY_MS, 'day') : formatDay(time);
}

/** Formats the day of a time in UTC: `4 January 2027`. It is the same day for all readers, and in the mails. */
export const formatUtcDay = (time: string) => formats().utcDay.format(new Date(time));

/** Formats the day of a time in UTC without the year: `4 Jan`. */
export const formatShortUtcDay = (time: string) => formats().shortUtcDay.format(new Date(time));

/** Formats a time for a table, in the reader's time zone: `20 Nov 2026, 13:00 UTC`. */
export const formatShortTime = (time: string) => formats().shortTime.format(new Date(time));

/** Formats a fraction of 1: `37%`. */
export const formatPercent = (share: number) => formats().percent.format(share);

/** Formats a time in the reader's time zone: `20 November 2026 at 13:00 UTC`. */
export const formatTime = (time: string) => formats().time.format(new Date(time));
