/**
 * The shortest `retry-after` of a refusal because of load. While an application runs, the reference client waits for at least a
 * minute after a refused heartbeat, so shorter times would all become the same one.
 */
export const MIN_RETRY_SECONDS = 60;
/** The longest one: the reference client reads a longer `retry-after` as 6 hours. */
const MAX_RETRY_SECONDS = 6 * 3600;

/**
 * Gives each refused request a time to return, so that together they return as fast as the service can answer them: the more were
 * refused, the later the next one returns. Requests that were refused at the same time therefore return at different times.
 */
export class ReturnTimes {
  /** When the latest of the refused requests returns, in milliseconds of the clock. */
  #lastAt = 0;

  /**
   * @param now the milliseconds of a monotonic clock
   * @param perSecond how many requests the service can answer in a second
   * @param random from 0 to below 1
   * @returns the seconds of `retry-after`
   */
  next(now: number, perSecond: number, random: number): number {
    const at = Math.max(this.#lastAt, now + MIN_RETRY_SECONDS * 1000) + 1000 / perSecond;
    // No request returns later than the longest time. This also holds if an overload of many hours refuses more requests than can
    // return within MAX_RETRY_SECONDS.
    this.#lastAt = Math.min(at, now + (MAX_RETRY_SECONDS + 1) * 1000);
    const seconds = (this.#lastAt - now) / 1000;
    // All times up to the longest one are taken, so this request gets a random one.
    if (seconds > MAX_RETRY_SECONDS)
      return Math.floor(MIN_RETRY_SECONDS + (MAX_RETRY_SECONDS - MIN_RETRY_SECONDS) * random);
    // Rounded up or down at random, so that requests between two whole seconds stay evenly spread.
    return Math.floor(seconds + random);
  }
}
