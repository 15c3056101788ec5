import { formatTime, parseTime, representable, type Clock } from './time.js';

export interface StoredTime {
  /** The latest time that this installation has seen, corrected to the service's clock. */
  highest_seen: string | null;
  /**
   * By how many seconds this computer's clock is ahead of the service's: measured at the last confirmation, and reduced if the
   * clock was set back since; never negative.
   */
  clock_ahead_seconds: number;
}

/**
 * The time by which the client decides whether it may start offline (docs/clients.md#the-7-days-and-the-clock). The user can
 * set the wall clock, so the wall clock does not decide alone:
 *
 *     now = max(wall clock − clock_ahead, highest time seen + running time since)
 *
 * - A clock that is set back gains little: the highest time seen is stored, and it grows by the running time of the
 *   application, measured without the wall clock. If a user sets the clock back before every start, running time
 *   alone counts towards the 7 days.
 * - A clock that is ahead, even by a year, does no harm: each confirmation measures the difference to the service's
 *   clock, and the client subtracts it until the clock is corrected.
 * - After a clock has jumped ahead since the last confirmation, a start may need the network once. The confirmation that it
 *   then gets sets the highest time seen to the service's time.
 * - The client does not compensate for a clock that is behind. Otherwise, when the user sets the clock right, the
 *   difference would count as elapsed time.
 * - The time is never before the token's `iat`, even if the highest time seen was deleted from the file.
 * - The highest time seen is limited to times that the file can hold. A later one could not be read at the next start,
 *   which would then use the wall clock alone.
 */
export class SeenTime {
  #highest: number;
  #aheadMs: number;
  #measuredAt: number;
  readonly #clock: Clock;

  constructor(clock: Clock, stored: StoredTime) {
    this.#clock = clock;
    this.#aheadMs = Math.max(0, stored.clock_ahead_seconds) * 1000;
    this.#measuredAt = clock.monotonic();
    this.#highest = representable(parseTime(stored.highest_seen) ?? clock.now() - this.#aheadMs);
  }

  /** Milliseconds since 1970; never less than in an earlier call, unless a confirmation came between them. */
  now(): number {
    const measured = this.#clock.monotonic();
    const ranForMs = Math.max(0, measured - this.#measuredAt);
    this.#measuredAt = measured;
    this.#highest += ranForMs;
    const wall = this.#clock.now();
    // A clock that was set back is less far ahead than before. With the old value, only running time would count from now on.
    this.#aheadMs = Math.min(this.#aheadMs, Math.max(0, wall - this.#highest));
    this.#highest = representable(Math.max(this.#highest, wall - this.#aheadMs));
    return this.#highest;
  }

  /** Sets a lower limit of `now`: the time, in milliseconds since 1970, at which the service issued a token. */
  atLeast(time: number): void {
    this.#highest = representable(Math.max(this.#highest, time));
  }

  /** Replaces all times seen before by the `server_time` of a confirmation, in milliseconds since 1970. */
  confirm(serverTime: number): void {
    this.#measuredAt = this.#clock.monotonic();
    this.#aheadMs = Math.max(0, this.#clock.now() - serverTime);
    this.#highest = representable(serverTime);
  }

  toStored(): StoredTime {
    return { highest_seen: formatTime(this.now()), clock_ahead_seconds: this.#aheadMs / 1000 };
  }
}
