import { expect, test } from '@jest/globals';
import { Batch } from '../../src/database/batch.js';
import { isTemporaryDatabaseError } from '../../src/database/temporary-errors.js';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test('a caller above the limit of waiting callers gets a temporary error, until there is capacity again', async () => {
  // For each running batch a function that ends it.
  const finishRunning: (() => void)[] = [];
  const run = (items: number[]) =>
    new Promise<number[]>((resolve) => finishRunning.push(() => resolve(items)));
  const [maxItems, maxRunning, maxWaiting] = [1, 1, 3];
  const batch = new Batch(run, maxItems, maxRunning, maxWaiting);
  const first = batch.add(0);
  await nextTurn();
  const waiting = [1, 2, 3].map((item) => batch.add(item));
  expect(isTemporaryDatabaseError(await batch.add(4).catch((error: unknown) => error))).toBe(true);
  finishRunning.shift()!();
  expect(await first).toBe(0);
  while (finishRunning.length === 0) await nextTurn();
  const answers = Promise.all([...waiting, batch.add(5)]);
  // Ends each batch after it starts. Four items are left, so 20 turns are more than enough.
  for (let turn = 0; turn < 20; turn += 1) {
    finishRunning.shift()?.();
    await nextTurn();
  }
  expect(await answers).toEqual([1, 2, 3, 5]);
});

test('after a failure rejects all waiting callers, no empty batch starts', async () => {
  const sizes: number[] = [];
  const failing = new Batch<number, number>((items) => {
    sizes.push(items.length);
    return Promise.reject(new Error('no database'));
  }, 1);
  const results = await Promise.allSettled([failing.add(1), failing.add(2)]);
  await nextTurn();
  await nextTurn();
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(sizes).toEqual([1]);
});
