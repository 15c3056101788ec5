import { DAY_MS } from '../core/clock.js';

/** Counts up to a limit for each UTC day, in the memory of this process. */
export class DailyLimit {
  /** The UTC day of the count, in days since 1970; -1 before the first call. */
  #day = -1;
  #count = 0;

  constructor(private readonly limit: number) {}

  /**
   * Adds one to the count of the day of `now`.
   * @returns `counted` up to the limit, `reached` for the first call above it, and `over` for later calls of the day
   */
  count(now: Date): 'counted' | 'reached' | 'over' {
    const day = Math.floor(now.getTime() / DAY_MS);
    if (day !== this.#day) [this.#day, this.#count] = [day, 0];
    if (this.#count > this.limit) return 'over';
    this.#count += 1;
    return this.#count > this.limit ? 'reached' : 'counted';
  }
}
