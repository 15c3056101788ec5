/** A difference between the wall clock and the monotonic clock, and the time at which it was first observed. */
interface Offset {
  readonly milliseconds: number;
  /** In milliseconds of the monotonic clock. */
  readonly since: number;
}

/**
 * The source of the current time for rules and stored data, except in a few SQL statements that use the clock of the database.
 * Tests replace it. It has no decorator of NestJS, because the command line for publishers contains this file.
 */
export class Clock {
  /** The accepted offset of the wall clock from the monotonic clock. */
  #acceptedMs: number | undefined;
  /**
   * The present offset, as first observed. Only an offset that differs from it by more than an hour replaces it.
   * When it has lasted for long enough, the offset is accepted (`hasJumpedAhead`).
   */
  #candidate: Offset | undefined;

  now(): Date {
    return new Date();
  }

  /** Milliseconds since the start of the process. Changes of the system time do not affect it. */
  monotonic(): number {
    return performance.now();
  }

  /**
   * Whether the wall clock has moved ahead of the monotonic clock by more than an hour (docs/decisions/0030). The first
   * call stores the offset of the two clocks; in a service, the retention job usually makes this call at the start.
   * A changed offset is accepted when it has lasted for as long as the change: a change of 8 hours after 8 hours, a
   * change of a year after a year or at a restart.
   */
  hasJumpedAhead(): boolean {
    const monotonic = this.monotonic();
    const offset = this.now().getTime() - monotonic;
    const aheadMs = offset - (this.#acceptedMs ??= offset);
    if (!this.#candidate || Math.abs(offset - this.#candidate.milliseconds) > CLOCK_TOLERANCE_MS) {
      this.#candidate = { milliseconds: offset, since: monotonic };
    }
    if (monotonic - this.#candidate.since < Math.abs(aheadMs)) return aheadMs > CLOCK_TOLERANCE_MS;
    this.#acceptedMs = offset;
    return false;
  }

  /**
   * Whether the clocks of the database and the service differ by at most an hour (docs/decisions/0015).
   * @param at a time that this clock showed; by default the current time
   */
  agreesWith(databaseTime: Date, at = this.now()): boolean {
    return Math.abs(at.getTime() - databaseTime.getTime()) <= CLOCK_TOLERANCE_MS;
  }
}

/** The largest accepted difference of two clocks: synchronized clocks differ by seconds, and a wrong clock usually by days. */
export const CLOCK_TOLERANCE_MS = 3_600_000;

/** The length of a day in UTC, which has no daylight saving time. */
export const DAY_SECONDS = 86_400;
export const DAY_MS = DAY_SECONDS * 1000;

/** A time in RFC 3339, in UTC and to the second: the format of the times in all responses. */
export function rfc3339(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}

/** `rfc3339` for a time that may be absent. */
export function rfc3339OrNull(time: Date | null): string | null {
  return time && rfc3339(time);
}

/** A row whose times are RFC 3339, as in responses. */
export type TimesAsText<Row> = { readonly [Name in keyof Row]: TimeAsText<Row[Name]> };
type TimeAsText<Value> = Value extends Date ? string : Value;

/** The row that `timesAsText` turns into a `View`: the members `Times` are dates, and null where the view may be null. */
export type RowOf<View, Times extends keyof View> = Omit<View, Times> & {
  readonly [Name in Times]: Date | Extract<View[Name], null>;
};

/** Returns a row for a response: its times in RFC 3339, all else unchanged. */
export function timesAsText<Row extends object>(row: Row): TimesAsText<Row> {
  const members = Object.entries(row).map(([name, value]: [string, unknown]) => [
    name,
    value instanceof Date ? rfc3339(value) : value,
  ]);
  return Object.fromEntries(members) as TimesAsText<Row>;
}

/** The UTC day of a time, `YYYY-MM-DD`. */
export function utcDay(time: Date): string {
  return time.toISOString().slice(0, 10);
}

/**
 * Parses a time that a user or a client wrote: a day (`2027-01-04`, its first second in UTC) or RFC 3339 without leap seconds.
 * Fractions of a second are dropped.
 * @returns null if the text is neither, if the day does not exist, or if the year in UTC is not 1970 to 9999
 */
export function parseMoment(text: string): Date | null {
  const match =
    /^(\d{4}-\d{2}-\d{2})(?:[Tt]((?:[01]\d|2[0-3]):\d{2}:\d{2})(?:\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2}))?$/.exec(
      text,
    );
  if (!match) return null;
  const [, day, time = '00:00:00', zone = 'Z'] = match;
  const moment = new Date(`${day}T${time}${zone.toUpperCase()}`);
  // `Date` turns 31 February into a day in March. A typing error must not become another day.
  const midnight = new Date(`${day}T00:00:00Z`);
  const dayExists = !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day!);
  if (Number.isNaN(moment.getTime()) || !dayExists) return null;
  // A year in RFC 3339 has four digits, and no time of the service is before 1970.
  const year = moment.getUTCFullYear();
  return year >= 1970 && year <= 9999 ? moment : null;
}
