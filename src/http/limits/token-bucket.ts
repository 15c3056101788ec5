interface Rate {
  /** What is added, up to the capacity. */
  readonly perSecond: number;
  /** What a full bucket holds: so many may come at once after a quiet time. */
  readonly capacity: number;
}

/** Limits how often something is done in all, whoever asks for it. Kept in memory by each instance. */
export class TokenBucket {
  #tokens: number;
  #filledAt: number;

  /** @param now milliseconds of a clock that never jumps, such as `Clock.monotonic` */
  constructor(
    private readonly rate: Rate,
    private readonly now: () => number,
  ) {
    this.#tokens = rate.capacity;
    this.#filledAt = now();
  }

  /** Takes one token. @returns false where there is none */
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
