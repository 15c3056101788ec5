/** Counts values by bounds, and adds them up. Metrics are computed from it when they are requested. */
export class Histogram {
  /** One count for each bound and one for larger values; each value is counted once, at the smallest bound that fits. */
  readonly counts: number[];
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
