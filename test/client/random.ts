/** A seeded random generator (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** Draws a number from 0 to below 1. */
  unit = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };

  /** Draws an integer from 0 to below n. */
  below(n: number): number {
    return Math.floor(this.unit() * n);
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.unit();
  }

  /** Draws a duration on a logarithmic scale, so that minutes are as frequent as weeks. */
  span(shortest: number, longest: number): number {
    return shortest * (longest / shortest) ** this.unit();
  }

  chance(probability: number): boolean {
    return this.unit() < probability;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }
}
