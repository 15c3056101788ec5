/**
 * Slows simulated time in an open loop, so that reconnecting clients send a few times as many requests as the service can
 * serve, and not a hundred times as many.
 */
const OPEN_LOOP_FACTOR = 0.25;

/**
 * Simulated time, in milliseconds since the start of the simulation. It runs faster than real time by a factor, stops while
 * the service is behind, and stops at the limit that the scenario sets. In an open loop, time does not wait for the service
 * and runs slower.
 */
export class Pace {
  now = 0;
  isOpenLoop = false;
  /** Milliseconds of real time for which simulated time waited for the service. */
  waitedMs = 0;
  #factor;
  #limit = 0;
  #onLimitReached = () => {};

  constructor(factor) {
    this.#factor = factor;
  }

  /**
   * How far the service's clock may be behind simulated time. The simulation sets this clock by messages to the process of the
   * service, and a message arrives late if one of the two processes is busy.
   */
  get clockToleranceMs() {
    return 2_000 * this.#factor;
  }

  /** Sets the limit of simulated time. @returns a promise that resolves when simulated time reaches it */
  waitUntil(moment) {
    this.setLimit(moment);
    return new Promise((resolve) => {
      this.#onLimitReached = resolve;
      if (this.now >= moment) resolve();
    });
  }

  /** Sets the moment at which simulated time stops until another limit is set. */
  setLimit(moment) {
    this.#limit = moment;
  }

  /** @param elapsed milliseconds of real time @param isBehind whether the service is behind */
  advance(elapsed, isBehind) {
    if (isBehind && !this.isOpenLoop) return void (this.waitedMs += elapsed);
    const factor = this.isOpenLoop ? this.#factor * OPEN_LOOP_FACTOR : this.#factor;
    this.now = Math.min(this.now + elapsed * factor, this.#limit);
    if (this.now >= this.#limit) this.#onLimitReached();
  }
}
