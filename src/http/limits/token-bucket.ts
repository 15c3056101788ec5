/** How often something may be done. */
interface Rate {
  /** The number of tokens that are added in a second, up to the capacity. */
  readonly perSecond: number;
  /** The number of tokens in a full bucket, which is the largest burst. */
  readonly capacity: number;
}

/** Limits how often something is done, for all callers together. Each instance of the service has its own buckets, in memory. */
export class TokenBucket {
  #tokens: number;
  /** The time at which tokens were added last, in milliseconds of `now`. */
  #filledAt: number;

  /** @param now returns the milliseconds of a monotonic clock, such as `Clock.monotonic` */
  constructor(
    private readonly rate: Rate,
    private readonly now: () => number,
  ) {
    this.#tokens = rate.capacity;
    this.#filledAt = now();
  }

  /** Takes one token. @returns false if the bucket has no whole token */
  take(): boolean {
    const now = this.now();
    const added = ((now - this.#filledAt) / 1000) * this.rate.perSecond;
    this.#tokens = Math.min(this.rate.capacity, this.#tokens + added);
    this.#filledAt = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
