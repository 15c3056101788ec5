import { Histogram } from '../core/histogram.js';

/** More wait for a batch than may. Passing, as an outage is (`isConnectionError`). */
export class TooManyWait extends Error {}

/**
 * Gathers calls of the same few milliseconds into one: what arrives in one turn of the event loop, and what arrives
 * while earlier batches are under way, goes out together. An idle service adds no wait, a busy one asks less often.
 */
export class Batch<Item, Result> {
  /** Items by batch. */
  readonly sizes = new Histogram([1, 2, 5, 10, 20, 50, 100, 200, 500]);
  #waiting: { item: Item; resolve: (result: Result) => void; reject: (error: unknown) => void }[] = [];
  #running = 0;
  #scheduled = false;

  /**
   * @param run answers a batch, one result for each item, in their order
   * @param maxItems a batch's size at most
   * @param maxRunning batches under way at once
   * @param maxWaiting calls that wait for a batch at most; who comes then is turned away, for callers that gave up wait
   * here all the same
   */
  constructor(
    private readonly run: (items: Item[]) => Promise<Result[]>,
    private readonly maxItems = 500,
    private readonly maxRunning = 2,
    private readonly maxWaiting = 5_000,
  ) {}

  /** @throws TooManyWait */
  async add(item: Item): Promise<Result> {
    if (this.#waiting.length >= this.maxWaiting) throw new TooManyWait();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled || this.#waiting.length === 0 || this.#running >= this.maxRunning) return;
    this.#scheduled = true;
    // After this turn's input was read: requests that arrived together travel together.
    setImmediate(() => {
      this.#scheduled = false;
      // A failure may have rejected those who waited: an empty batch would only ask the database once more.
      if (this.#waiting.length > 0) void this.#flush();
    });
  }

  async #flush(): Promise<void> {
    const batch = this.#waiting.splice(0, this.maxItems);
    this.#running += 1;
    this.sizes.add(batch.length);
    this.#schedule();
    try {
      const results = await this.run(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, index) => resolve(results[index]!));
    } catch (error) {
      // Those who waited behind a failure would only meet it later: everyone is told now (503 within 2 seconds).
      for (const { reject } of [...batch, ...this.#waiting.splice(0)]) reject(error);
    } finally {
      this.#running -= 1;
      this.#schedule();
    }
  }
}
