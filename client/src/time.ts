/** Clock and timers of the client, which a test or another platform can replace, and RFC 3339 times. */

export interface Clock {
  /** The wall clock, in milliseconds since 1970. The user can set it to anything. */
  now(): number;
  /** Milliseconds that only increase while the process runs, also when the wall clock is set back. */
  monotonic(): number;
}

export interface Timers {
  /** Calls `work` once after `milliseconds`; must not keep the process alive. */
  set(work: () => unknown, milliseconds: number): unknown;
  clear(timer: unknown): void;
}

export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() };

export const systemTimers: Timers = {
  set: (work, milliseconds) => setTimeout(work, milliseconds).unref(),
  clear: (timer) => clearTimeout(timer as NodeJS.Timeout),
};

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

/** An RFC 3339 time of the calendar as milliseconds since 1970; undefined for anything else. */
export function parseTime(value: unknown): number | undefined {
  const match = typeof value === 'string' ? RFC_3339.exec(value) : null;
  if (!match) return undefined;
  const [text, year, month, day] = match;
  // `Date.parse` reads February 30 as March 2.
  if (Number(day) > daysOfMonth(Number(year), Number(month))) return undefined;
  const milliseconds = Date.parse(text);
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}

/** The calendar repeats after 400 years, and `Date.UTC` reads years below 100 differently. */
function daysOfMonth(year: number, month: number): number {
  return new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
}

/** The last millisecond of the year 9999: a later time has no RFC 3339 form. */
const LATEST_TIME_MS = 253_402_300_799_999;

/** Limits a time, in milliseconds since 1970, to the years 1970 to 9999: `parseTime` cannot read a later one. */
export function representable(milliseconds: number): number {
  return Math.min(Math.max(milliseconds, 0), LATEST_TIME_MS);
}

/** RFC 3339 in UTC; the inverse of `parseTime` for a time that is `representable`. */
export function formatTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
