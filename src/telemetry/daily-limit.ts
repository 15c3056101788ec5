import { DAY_MS } from '../core/clock.js';

/** Counts up to a limit for each UTC day, in the memory of this process. */
export class DailyLimit {
  /** The UTC day of the count, in days since 1970; -1 before the first call. */
  #day = -1;
  #count = 0;
  #isExceeded = false;

  constructor(private readonly limit: number) {}

  /**
   * Adds one to the count of the day of `now`.
   * @returns `counted` up to the limit, `reached` for the first call above it, and `over` for later calls of the day
   */
  count(now: Date): 'counted' | 'reached' | 'over' {
    const day = dayOf(now);
    if (day !== this.#day) [this.#day, this.#count, this.#isExceeded] = [day, 0, false];
    if (this.#count < this.limit) {
      this.#count += 1;
      return 'counted';
    }
    const isFirst = !this.#isExceeded;
    this.#isExceeded = true;
    return isFirst ? 'reached' : 'over';
  }

  /** Takes back a call of `count` with this time that returned `counted`. */
  uncount(at: Date): void {
    if (dayOf(at) === this.#day) this.#count -= 1;
  }
}

const dayOf = (time: Date) => Math.floor(time.getTime() / DAY_MS);
