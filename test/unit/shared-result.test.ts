import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SHARED_RESULT_LIMITS, SharedResult } from '../../src/monitoring/warnings/shared-result.js';

// test/support/limits.ts sets this time to 0 for all tests.
const { sharedMs } = SHARED_RESULT_LIMITS;
beforeAll(() => void (SHARED_RESULT_LIMITS.sharedMs = 1_000));
afterAll(() => void (SHARED_RESULT_LIMITS.sharedMs = sharedMs));

/** A shared query that the test resolves, with a clock that the test sets. */
function sharedQuery() {
  const queries: PromiseWithResolvers<string>[] = [];
  const time = { now: 0 };
  const result = new SharedResult(
    () => {
      const next = Promise.withResolvers<string>();
      queries.push(next);
      return next.promise;
    },
    () => time.now,
  );
  return { result, queries, time };
}

test('callers that arrive while a query is under way wait for its answer, however long it takes', async () => {
  const { result, queries, time } = sharedQuery();
  const first = result.get();
  time.now = 5_000;
  const second = result.get();
  expect(queries).toHaveLength(1);
  queries[0]!.resolve('one');
  expect(await Promise.all([first, second])).toEqual(['one', 'one']);
});

test('an answer is shared for a second after its query began; then there is a new query', async () => {
  const { result, queries, time } = sharedQuery();
  const first = result.get();
  time.now = 600;
  queries[0]!.resolve('one');
  await first;
  time.now = 999;
  expect(await result.get()).toBe('one');
  time.now = 1_000;
  const second = result.get();
  expect(queries).toHaveLength(2);
  queries[1]!.resolve('two');
  expect(await second).toBe('two');
});

test('a failure is shared too, and the query is repeated after a second', async () => {
  const { result, queries, time } = sharedQuery();
  const callers = [result.get(), result.get()];
  queries[0]!.reject(new Error('unavailable'));
  for (const caller of callers) await expect(caller).rejects.toThrow('unavailable');
  await expect(result.get()).rejects.toThrow('unavailable');
  expect(queries).toHaveLength(1);
  time.now = 1_000;
  const again = result.get();
  queries[1]!.resolve('back');
  expect(await again).toBe('back');
});
