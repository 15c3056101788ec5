/** The page's own language, in the reader's flavour of it: messages and dates must not be of two languages. */
const language = document.documentElement.lang;
const locale = navigator.languages.find((each) => each.split('-')[0] === language) ?? language;

const numbers = new Intl.NumberFormat(locale);
const plurals = new Intl.PluralRules(locale);
const dayOfThisYear = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'long' });
const longDay = new Intl.DateTimeFormat(locale, { dateStyle: 'long' });
const longDayUtc = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' });
const shortDayUtc = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', timeZone: 'UTC' });
const CLOCK = { hour: 'numeric', minute: '2-digit', timeZoneName: 'short' } as const;
const shortMoments = new Intl.DateTimeFormat(locale, {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  ...CLOCK,
});
const percents = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 0 });
const longMoment = new Intl.DateTimeFormat(locale, {
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  ...CLOCK,
});

export const number = (value: number) => numbers.format(value);

/** The messages for so many: `plural(2, { one: '# machine', other: '# machines' })`. */
export function plural(count: number, forms: { one: string; other: string }): string {
  const form = plurals.select(count) === 'one' ? forms.one : forms.other;
  return form.replace('#', number(count));
}

/** The day of a moment where the reader is: `14 May`, with its year where that is not this one. */
export function day(moment: string): string {
  const time = new Date(moment);
  return (time.getFullYear() === new Date().getFullYear() ? dayOfThisYear : longDay).format(time);
}

/** A day that is the same everywhere, such as an expiry: `4 January 2027`, as mails have it too. */
export const utcDay = (moment: string) => longDayUtc.format(new Date(moment));

/** The short form: `4 Jan`. */
export const shortUtcDay = (moment: string) => shortDayUtc.format(new Date(moment));

/** `20 Nov 2026, 13:00 UTC`, for a table. */
export const shortMoment = (time: string) => shortMoments.format(new Date(time));

/** A share of 1: `37%`. */
export const percent = (share: number) => percents.format(share);

/** `20 November 2026 at 13:00 UTC`, in the time zone of the reader. */
export const moment = (time: string) => longMoment.format(new Date(time));
