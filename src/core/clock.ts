import { Injectable } from '@nestjs/common';

/** An offset of the wall clock from the monotonic one, and since when it is there. */
interface Offset {
  readonly milliseconds: number;
  /** By the monotonic clock. */
  readonly since: number;
}

/** The one source of the present. Tests put another in its place; nothing else asks the system. */
@Injectable()
export class Clock {
  /** How far the wall clock is from the monotonic one, as it was believed last. */
  #believedMs: number | undefined;
  /** Another offset, which is believed only after a time. */
  #candidate: Offset | undefined;

  now(): Date {
    return new Date();
  }

  /** Milliseconds that this process has run: a clock that no change of the time moves. */
  monotonic(): number {
    return performance.now();
  }

  /**
   * Whether the wall clock went ahead by more than an hour that the monotonic clock did not count (docs/decisions/0030).
   * The first call learns how far the two are apart; a retention run makes it at the start of the service and each hour. A
   * difference is believed once it has stayed for as long as it is itself: a machine that slept for 8 hours is believed
   * after 8 hours, a clock that jumped by a year after a restart.
   */
  hasJumpedAhead(): boolean {
    const monotonic = this.monotonic();
    const offset = this.now().getTime() - monotonic;
    const aheadMs = offset - (this.#believedMs ??= offset);
    if (!this.#candidate || Math.abs(offset - this.#candidate.milliseconds) > CLOCK_TOLERANCE_MS) {
      this.#candidate = { milliseconds: offset, since: monotonic };
    }
    if (monotonic - this.#candidate.since < Math.abs(aheadMs)) return aheadMs > CLOCK_TOLERANCE_MS;
    this.#believedMs = offset;
    return false;
  }

  /** Whether the database's clock says the same as ours, give or take an hour (decision 0015). */
  agreesWith(databaseTime: Date): boolean {
    return Math.abs(this.now().getTime() - databaseTime.getTime()) <= CLOCK_TOLERANCE_MS;
  }
}

/** Clocks that are kept right differ by seconds; one that is wrong is mostly wrong by days. */
export const CLOCK_TOLERANCE_MS = 3_600_000;

/** A day in UTC, which is always as long. */
export const DAY_MS = 86_400_000;

/** RFC 3339 in UTC, to the second: the one way a time leaves the service. */
export function rfc3339(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}

/** The same for a time that may be absent. */
export function rfc3339OrNull(time: Date | null): string | null {
  return time && rfc3339(time);
}

const READABLE = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'long',
  timeStyle: 'short',
  timeZone: 'UTC',
});

const READABLE_DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });

/** As a person reads it: `20 November 2026 at 13:00 UTC`. */
export function readableMoment(time: Date): string {
  return `${READABLE.format(time)} UTC`;
}

/** As a person reads a day: `20 November 2026`. */
export function readableDay(time: Date): string {
  return READABLE_DAY.format(time);
}

/** The UTC day of a moment, `YYYY-MM-DD`. */
export function utcDay(time: Date): string {
  return time.toISOString().slice(0, 10);
}

/**
 * Reads a moment that a person or a client wrote: a day (`2027-01-04`, its first second in UTC) or RFC 3339.
 * @returns null where it is neither, or no such day exists.
 */
export function parseMoment(text: string): Date | null {
  const match =
    /^(\d{4}-\d{2}-\d{2})(?:[Tt]((?:[01]\d|2[0-3]):\d{2}:\d{2})(?:\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2}))?$/.exec(
      text,
    );
  if (!match) return null;
  const [, day, time = '00:00:00', zone = 'Z'] = match;
  const moment = new Date(`${day}T${time}${zone.toUpperCase()}`);
  // Date rolls 31 February over into March; a slip of the pen must not become another day.
  const midnight = new Date(`${day}T00:00:00Z`);
  const dayExists = !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day!);
  if (Number.isNaN(moment.getTime()) || !dayExists) return null;
  // RFC 3339 has four digits for a year, and nothing here happened before 1970.
  const year = moment.getUTCFullYear();
  return year >= 1970 && year <= 9999 ? moment : null;
}
