import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Batch, BatchQueueFull } from '../../src/database/batch.js';
import { runs } from '../fuzz/fuzz.js';
import { releaseAll } from '../support/interleavings.js';

type Outcome = 'answered' | 'rejected' | 'thrown at once';

interface Plan {
  /** How many callers arrive in the same turn of the event loop, for each arrival. */
  readonly arrivals: number[];
  /** The outcome of each batch, in the order in which the batches start. The list repeats from its first entry. */
  readonly outcomes: Outcome[];
  readonly maxItems: number;
  readonly maxRunning: number;
  readonly maxWaiting: number;
}

const PLAN: fc.Arbitrary<Plan> = fc.record({
  arrivals: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 14 }),
  outcomes: fc.array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constant('answered' as const) },
      { weight: 1, arbitrary: fc.constantFrom('rejected' as const, 'thrown at once' as const) },
    ),
    { minLength: 1, maxLength: 8 },
  ),
  maxItems: fc.integer({ min: 1, max: 6 }),
  maxRunning: fc.integer({ min: 1, max: 3 }),
  maxWaiting: fc.integer({ min: 1, max: 12 }),
});

/** Every fifth item has no answer, like an activation that is not in the database. */
const answerOf = (item: number) => (item % 5 === 4 ? undefined : `answer to ${item}`);

class BatchFailed extends Error {}

/** A batch whose runs wait for a scheduler, and what each of its callers must get. */
class ScheduledBatch {
  readonly batch: Batch<number, string | undefined>;
  readonly starts: number[][] = [];
  readonly runningCounts: number[] = [];
  /** What each item's caller must get: an answer, the error of its batch, or BatchQueueFull. */
  readonly expected = new Map<number, unknown>();
  #waiting: number[] = [];
  #running = 0;

  constructor(
    private readonly scheduler: fc.Scheduler,
    private readonly plan: Plan,
  ) {
    const { maxItems, maxRunning, maxWaiting } = plan;
    this.batch = new Batch((items) => this.#run(items), maxItems, maxRunning, maxWaiting);
  }

  /** Makes one call. @returns the item, and the answer or error that the caller got */
  async call(item: number): Promise<[number, unknown]> {
    if (this.#waiting.length >= this.plan.maxWaiting) this.expected.set(item, BatchQueueFull);
    else this.#waiting.push(item);
    return [item, await this.batch.add(item).catch((error: unknown) => error)];
  }

  // Not async: a run may also throw before it returns a promise.
  #run(items: number[]): Promise<(string | undefined)[]> {
    const outcome = this.plan.outcomes[this.starts.length % this.plan.outcomes.length]!;
    this.starts.push(items);
    this.runningCounts.push((this.#running += 1));
    // A batch takes items in their order of arrival, and each item once.
    expect(this.#waiting.splice(0, items.length)).toEqual(items);
    if (outcome === 'thrown at once') throw this.#fail(items);
    return this.scheduler.schedule(Promise.resolve(), `batch of ${items.join()}`).then(() => {
      if (outcome === 'rejected') throw this.#fail(items);
      this.#running -= 1;
      for (const item of items) this.expected.set(item, answerOf(item));
      return items.map(answerOf);
    });
  }

  /** A failure rejects the callers of its batch and the callers that wait at that moment, and no others. */
  #fail(items: number[]): BatchFailed {
    const error = new BatchFailed(`batch ${this.starts.length}`);
    this.#running -= 1;
    for (const item of [...items, ...this.#waiting.splice(0)]) this.expected.set(item, error);
    return error;
  }
}

test('each caller gets its own answer, or the error of a batch that it waited for, in any order of batches', () =>
  fc.assert(
    fc.asyncProperty(fc.scheduler(), PLAN, async (scheduler, plan) => {
      const scheduled = new ScheduledBatch(scheduler, plan);
      let items = 0;
      const arrivals = plan.arrivals.map((count) =>
        scheduler
          .schedule(Promise.resolve(), `${count} callers arrive`)
          .then(() => Promise.all(Array.from({ length: count }, () => scheduled.call(items++)))),
      );
      for (const [item, result] of (await releaseAll(scheduler, Promise.all(arrivals))).flat()) {
        const expected = scheduled.expected.get(item);
        if (expected === BatchQueueFull) expect(result).toBeInstanceOf(BatchQueueFull);
        else expect(result).toBe(expected);
      }
      const sizes = scheduled.starts.map(({ length }) => length);
      expect(Math.min(...sizes)).toBeGreaterThan(0);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(plan.maxItems);
      expect(Math.max(...scheduled.runningCounts)).toBeLessThanOrEqual(plan.maxRunning);
    }),
    runs(300),
  ));
