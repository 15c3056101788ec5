import { Histogram } from '../core/histogram.js';

/** The error of a call for which the queue of a batch has no space: temporary, like an outage (`isTemporaryDatabaseError`). */
export class BatchQueueFull extends Error {}

/**
 * Combines calls of the same few milliseconds into batches, so that a busy service sends fewer statements: the calls of one turn
 * of the event loop, and those that arrive while `maxRunning` batches run. A call to an idle service is not delayed.
 */
export class Batch<Item, Result> {
  /** The sizes of the batches so far. */
  readonly sizes = new Histogram([1, 2, 5, 10, 20, 50, 100, 200, 500]);
  #waiting: { item: Item; resolve: (result: Result) => void; reject: (error: unknown) => void }[] = [];
  #runningBatches = 0;
  #isScheduled = false;

  /**
   * @param run processes a batch and returns one result for each item, in the order of the items
   * @param maxItems the largest size of a batch
   * @param maxRunning the largest number of concurrent batches
   * @param maxWaiting the largest number of queued calls, including those whose callers no longer wait; a further call is rejected
   */
  constructor(
    private readonly run: (items: Item[]) => Promise<Result[]>,
    private readonly maxItems = 500,
    private readonly maxRunning = 2,
    private readonly maxWaiting = 5_000,
  ) {}

  /** Adds an item to the next batch, and waits for its result. @throws BatchQueueFull, or the error of a batch that failed */
  async add(item: Item): Promise<Result> {
    if (this.#waiting.length >= this.maxWaiting) throw new BatchQueueFull();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.length === 0 || this.#runningBatches >= this.maxRunning) return;
    this.#isScheduled = true;
    // The callback runs after the input of this turn is read, so that requests that arrived together share a batch.
    setImmediate(() => {
      this.#isScheduled = false;
      // A failure may have rejected the queued calls. An empty batch would send a useless statement.
      if (this.#waiting.length > 0) void this.#flush();
    });
  }

  async #flush(): Promise<void> {
    const batch = this.#waiting.splice(0, this.maxItems);
    this.#runningBatches += 1;
    this.sizes.add(batch.length);
    this.#schedule();
    try {
      const results = await this.run(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, index) => resolve(results[index]!));
    } catch (error) {
      // Queued calls are rejected too: they would fail in the same way, but after the 2 seconds within which a 503 must be sent.
      for (const { reject } of [...batch, ...this.#waiting.splice(0)]) reject(error);
    } finally {
      this.#runningBatches -= 1;
      this.#schedule();
    }
  }
}
