import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SHARED_RESULT_LIMITS, SharedResult } from '../../src/monitoring/shared-result.js';

const { sharedMs } = SHARED_RESULT_LIMITS;
beforeAll(() => void (SHARED_RESULT_LIMITS.sharedMs = 1_000));
afterAll(() => void (SHARED_RESULT_LIMITS.sharedMs = sharedMs));

/** A shared query that the test answers, with a clock that the test moves. */
function shared() {
  const asked: PromiseWithResolvers<string>[] = [];
  const time = { now: 0 };
  const look = new SharedResult(
    () => {
      const next = Promise.withResolvers<string>();
      asked.push(next);
      return next.promise;
    },
    () => time.now,
  );
  return { look, asked, time };
}

test('callers that arrive while a query is under way wait for its answer, however long it takes', async () => {
  const { look, asked, time } = shared();
  const first = look.get();
  time.now = 5_000;
  const second = look.get();
  expect(asked).toHaveLength(1);
  asked[0]!.resolve('one');
  expect(await Promise.all([first, second])).toEqual(['one', 'one']);
});

test('an answer is shared for a second after its query began; then there is a new query', async () => {
  const { look, asked, time } = shared();
  const first = look.get();
  time.now = 600;
  asked[0]!.resolve('one');
  await first;
  time.now = 999;
  expect(await look.get()).toBe('one');
  time.now = 1_000;
  const second = look.get();
  expect(asked).toHaveLength(2);
  asked[1]!.resolve('two');
  expect(await second).toBe('two');
});

test('a failure is shared too, and the query is repeated after a second', async () => {
  const { look, asked, time } = shared();
  const callers = [look.get(), look.get()];
  asked[0]!.reject(new Error('unavailable'));
  for (const caller of callers) await expect(caller).rejects.toThrow('unavailable');
  await expect(look.get()).rejects.toThrow('unavailable');
  expect(asked).toHaveLength(1);
  time.now = 1_000;
  const again = look.get();
  asked[1]!.resolve('back');
  expect(await again).toBe('back');
});
