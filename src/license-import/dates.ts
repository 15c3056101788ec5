import { parseMoment } from '../core/clock.js';
import { Invalid } from '../core/field.js';

/** The order of day and month in a date such as 03/04/2024, which the file does not show. The operator gives it with `--dates`. */
export type DayOrder = 'mdy' | 'dmy';

/** A date of an export, and the name of the format in which it was written. */
export interface ReadDate {
  readonly date: Date;
  readonly format: string;
}

/** A time of day, which a date may lack: hours and minutes, seconds, a fraction that is ignored, AM or PM, and a zone. */
const TIME = String.raw`(?:,?[ T](\d{1,2}:\d{2}(?::\d{2})?)(?:\.\d{1,9})?(?: ?([AaPp][Mm]))?(?: ?(Z|UTC|GMT|[+-]\d{2}:?\d{2}))?)?`;
const ISO = new RegExp(String.raw`^(\d{4})-(\d{2})-(\d{2})${TIME}$`);
const NUMBERS = new RegExp(String.raw`^(\d{1,2})([/.])(\d{1,2})\2(\d{4})${TIME}$`);
const MONTH_FIRST = new RegExp(String.raw`^([A-Za-z]{3,9})\.? (\d{1,2}),? (\d{4})${TIME}$`);
const DAY_FIRST = new RegExp(String.raw`^(\d{1,2})\.? ([A-Za-z]{3,9})\.? (\d{4})${TIME}$`);
/** Seconds or milliseconds from September 2001 on. Earlier milliseconds have 12 digits, as a date such as 202712310000 has. */
const EPOCH = /^(\d{10})(\d{3})?$/;
const MONTHS = 'january february march april may june july august september october november december';

const NO_DATE = new Invalid(
  'must be a date such as 2027-01-04, 2027-01-04 12:00:00 UTC, 01/31/2027, Jan 4, 2027, or a number of seconds since 1970',
);
const AMBIGUOUS = new Invalid(
  'may be in either of two months: give the order of day and month with --dates mdy or dmy',
);

/**
 * Reads a date in one of the formats that exports use. A time without a zone is in UTC. A date such as 03/04/2024 is refused unless
 * the order is given: a guess would move an expiry by months.
 * @param order of dates with slashes; undefined if it is not known
 */
export function readDate(text: string, order?: DayOrder): ReadDate | Invalid {
  const epoch = EPOCH.exec(text);
  if (epoch)
    return toReadDate(
      new Date(Number(epoch[1]) * 1_000),
      epoch[2] ? 'milliseconds since 1970' : 'seconds since 1970',
    );
  const iso = ISO.exec(text);
  if (iso) return parseParts(iso[1]!, iso[2]!, iso[3]!, iso.slice(4), 'YYYY-MM-DD');
  const numbers = NUMBERS.exec(text);
  if (numbers) return readNumbers(numbers, order);
  const named = MONTH_FIRST.exec(text);
  if (named) return parseParts(named[3]!, monthOf(named[1]!), named[2]!, named.slice(4), 'Mon D, YYYY');
  const dayFirst = DAY_FIRST.exec(text);
  if (dayFirst)
    return parseParts(dayFirst[3]!, monthOf(dayFirst[2]!), dayFirst[1]!, dayFirst.slice(4), 'D Mon YYYY');
  return NO_DATE;
}

function readNumbers(
  [, first = '', separator = '', second = '', year = '', ...time]: RegExpExecArray,
  order: DayOrder | undefined,
): ReadDate | Invalid {
  // With dots the day is always first: no country writes the month first with them.
  const known = separator === '.' ? 'dmy' : order;
  // With equal numbers, as in 03/03/2024, both orders give the same date.
  const isEqual = Number(first) === Number(second);
  const found = known ?? (Number(first) > 12 ? 'dmy' : Number(second) > 12 || isEqual ? 'mdy' : undefined);
  if (!found) return AMBIGUOUS;
  const [month, day] = found === 'mdy' ? [first, second] : [second, first];
  const name = found === 'mdy' ? ['MM', 'DD', 'YYYY'] : ['DD', 'MM', 'YYYY'];
  return parseParts(year, month, day, time, name.join(separator));
}

/** @param name an English month, or its first letters @returns its number as text; `0`, which is no month, for any other word */
function monthOf(name: string): string {
  const index = MONTHS.split(' ').findIndex((month) => month.startsWith(name.toLowerCase()));
  return String(index + 1);
}

function parseParts(
  year: string,
  month: string,
  day: string,
  [time, meridiem, zone]: readonly (string | undefined)[],
  format: string,
): ReadDate | Invalid {
  const date = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  if (time === undefined) return toReadDate(parseMoment(date), format);
  const [hours = '', minutes = '', seconds = '00'] = time.split(':');
  const hour = meridiem === undefined ? Number(hours) : toHour(Number(hours), meridiem);
  // `UTC` and `GMT` become `Z`, and `+0200` becomes `+02:00`.
  const offset = zone === undefined || /^[ZUG]/.test(zone) ? 'Z' : zone.replace(/^(...):?/, '$1:');
  const moment = parseMoment(`${date}T${String(hour).padStart(2, '0')}:${minutes}:${seconds}${offset}`);
  return toReadDate(moment, `${format} hh:mm${zone === undefined ? ' (read as UTC)' : ' with its zone'}`);
}

/** Converts an hour of a 12-hour clock. @returns 24, which is no hour, for one that such a clock does not have */
function toHour(hour: number, meridiem: string): number {
  if (hour < 1 || hour > 12) return 24;
  return (hour % 12) + (meridiem.toLowerCase() === 'pm' ? 12 : 0);
}

const toReadDate = (date: Date | null, format: string): ReadDate | Invalid =>
  date ? { date, format } : NO_DATE;
