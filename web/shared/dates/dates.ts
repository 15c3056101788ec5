import type { Forms } from '../../../src/languages/messages.js';
import { canonicalTag } from '../../../src/languages/tags.js';
import { pluralForm } from '../../../src/languages/text.js';

/** The options of the time of day, with its time zone. */
export const TIME_OF_DAY = { hour: 'numeric', minute: '2-digit', timeZoneName: 'short' } as const;

function createFormats(language: string) {
  const locale = regionalForm(language);
  const days = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(locale, options);
  return {
    language,
    number: new Intl.NumberFormat(locale),
    plural: new Intl.PluralRules(locale),
    dayWithoutYear: days({ day: 'numeric', month: 'long' }),
    day: days({ dateStyle: 'long' }),
    utcDay: days({ dateStyle: 'long', timeZone: 'UTC' }),
    time: days({ day: 'numeric', month: 'long', year: 'numeric', ...TIME_OF_DAY }),
  };
}

/** Returns the language of the page in the regional form that the browser prefers, such as `en-GB`, for dates and numbers. */
export function regionalForm(language: string): string {
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

/** The attributes of an input for a day. Without `max` a browser accepts years of six digits, which `Date` cannot parse. */
export const DAY_INPUT = { type: 'date', max: '9999-12-31' } as const;

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

/** Formats the day of a time in the reader's time zone: `14 May 2026`. */
export const formatDayWithYear = (time: string) => formats().day.format(new Date(time));

/** Formats the day of a time in UTC: `4 January 2027`. It is the same day for all readers, and in the mails. */
export const formatUtcDay = (time: string) => formats().utcDay.format(new Date(time));

/** Formats a time in the reader's time zone: `20 November 2026 at 13:00 UTC`. */
export const formatTime = (time: string) => formats().time.format(new Date(time));
