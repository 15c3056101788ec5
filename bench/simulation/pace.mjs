/** Slows simulated time so that reconnecting clients are a few times what the service can serve, and not a hundred times. */
const OPEN = 0.25;

/**
 * Simulated time, in milliseconds since it began. It goes so many times as fast as the machine's, stops while the
 * service is behind, and never passes what was not done yet. While it `isOpen`, clients come whether the service keeps up
 * or not, and time goes slower.
 */
export class Pace {
  now = 0;
  isOpen = false;
  /** Milliseconds of the machine's clock for which the service was waited for. */
  waited = 0;
  #factor;
  #limit = 0;
  #reached = () => {};

  constructor(factor) {
    this.#factor = factor;
  }

  /** How far a clock may be behind that is set by messages, which a busy process sends late. */
  get slack() {
    return 2_000 * this.#factor;
  }

  /** Lets time go on up to a moment. @returns a promise of that moment */
  reach(moment) {
    this.allow(moment);
    return new Promise((resolve) => {
      this.#reached = resolve;
      if (this.now >= moment) resolve();
    });
  }

  /** Lets time go on up to a moment at which nothing is due. */
  allow(moment) {
    this.#limit = moment;
  }

  /** @param elapsed milliseconds of the machine's clock @param isBehind whether the service is */
  advance(elapsed, isBehind) {
    if (isBehind && !this.isOpen) return void (this.waited += elapsed);
    const factor = this.isOpen ? this.#factor * OPEN : this.#factor;
    this.now = Math.min(this.now + elapsed * factor, this.#limit);
    if (this.now >= this.#limit) this.#reached();
  }
}
