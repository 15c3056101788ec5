import { formatTime, parseTime, representable, type Clock } from './time.js';

export interface StoredTime {
  /** The latest moment this installation has known it to be, in the service's time. */
  highest_seen: string | null;
  /** By how much this computer's clock was ahead of the service's at the last confirmation; never negative. */
  clock_ahead_seconds: number;
}

/**
 * The time that the rule for a restart believes (docs/contract.md#heartbeat: a restart after `offline_until` makes a round
 * trip). The user owns the wall clock, so it is one source of three:
 *
 *     now = max(wall clock − clock_ahead, highest time seen + running time since)
 *
 * - A clock set backwards gains nothing lasting: the highest time seen is kept on disk, and it goes on growing by the
 *   time the application runs, measured without the wall clock. A user who turns the clock back before every start uses
 *   up the 7 days as running time.
 * - A clock that is simply wrong, a year ahead say, costs nothing: at each confirmation the difference to the
 *   service's own time is noted and taken off again, until the clock is put right.
 * - A clock that jumped ahead for a while, after the last confirmation, may ask for one round trip too many. The next
 *   confirmation sets everything back to the service's time, so it never lasts.
 * - A clock that is behind is not corrected: when it is put right, that must not look like time gone by.
 * - The `iat` of the token is a floor: a file in which the highest time seen was deleted gains no time before it.
 * - The highest time seen stays within what the file can hold. A later one would be lost at the next start, which would
 *   then go by the wall clock alone.
 */
export class SeenTime {
  #highest: number;
  #ahead: number;
  #measuredAt: number;
  readonly #clock: Clock;

  constructor(clock: Clock, stored: StoredTime) {
    this.#clock = clock;
    this.#ahead = Math.max(0, stored.clock_ahead_seconds) * 1000;
    this.#measuredAt = clock.monotonic();
    this.#highest = representable(parseTime(stored.highest_seen) ?? clock.now() - this.#ahead);
  }

  /** Milliseconds since 1970; never less than at the call before, until a confirmation says better. */
  now(): number {
    const measured = this.#clock.monotonic();
    const ranFor = Math.max(0, measured - this.#measuredAt);
    this.#measuredAt = measured;
    this.#highest += ranFor;
    const wall = this.#clock.now();
    // After the clock was set back it is less far ahead than it was, or time would now stand still.
    this.#ahead = Math.min(this.#ahead, Math.max(0, wall - this.#highest));
    this.#highest = representable(Math.max(this.#highest, wall - this.#ahead));
    return this.#highest;
  }

  /** It cannot be earlier than this: the service has issued something at that moment. */
  atLeast(time: number): void {
    this.#highest = representable(Math.max(this.#highest, time));
  }

  /** A confirmation's `server_time` outranks all that was seen before it. */
  confirm(serverTime: number): void {
    this.#measuredAt = this.#clock.monotonic();
    this.#ahead = Math.max(0, this.#clock.now() - serverTime);
    this.#highest = representable(serverTime);
  }

  toStored(): StoredTime {
    return { highest_seen: formatTime(this.now()), clock_ahead_seconds: this.#ahead / 1000 };
  }
}
