/** Counts values by upper bounds, and computes their sum. A metric is computed from it at each scrape. */
export class Histogram {
  /**
   * One count for each bound, and one for larger values. Each value is counted once, at the smallest bound that is not below
   * it.
   */
  readonly counts: number[];
  /** The sum of all values. */
  sum = 0;

  /** @param bounds in ascending order */
  constructor(readonly bounds: readonly number[]) {
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  add(value: number): void {
    let index = 0;
    while (index < this.bounds.length && value > this.bounds[index]!) index += 1;
    this.counts[index]! += 1;
    this.sum += value;
  }
}
