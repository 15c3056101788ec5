/** How many values lay at or below each bound, and their sum: counters alone, read when somebody asks. */
export class Histogram {
  /** One for each bound, and one for what lies above them all; each counts what no smaller bound has. */
  readonly counts: number[];
  sum = 0;

  /** @param bounds the smallest first */
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
