import { DAY_MS } from '../core/clock.js';

/** Counts up to a limit per UTC day, in memory alone. */
export class DailyLimit {
  #day = -1;
  #count = 0;

  constructor(private readonly limit: number) {}

  /** Counts one more on the day of this moment. @returns `reached` once a day, at the first that is over the limit */
  take(now: Date): 'counted' | 'reached' | 'over' {
    const day = Math.floor(now.getTime() / DAY_MS);
    if (day !== this.#day) [this.#day, this.#count] = [day, 0];
    if (this.#count > this.limit) return 'over';
    this.#count += 1;
    return this.#count > this.limit ? 'reached' : 'counted';
  }
}
