import { expect, test } from '@jest/globals';
import { Batch } from '../../src/database/batch.js';
import { Histogram } from '../../src/core/histogram.js';

test('a value is counted once, in the bucket with the smallest bound that is not below it', () => {
  const histogram = new Histogram([1, 2, 5]);
  for (const value of [0, 1, 1.5, 2, 5, 5.1, 1_000]) histogram.add(value);
  expect(histogram).toMatchObject({ counts: [2, 2, 1, 2], sum: 1_014.6 });
});

test('the calls of one turn of the event loop become one batch, up to the largest size of a batch', async () => {
  const batch = new Batch<number, number>(async (items) => items, 5);
  expect(await Promise.all([1, 2, 3].map((item) => batch.add(item)))).toEqual([1, 2, 3]);
  await Promise.all(Array.from({ length: 7 }, (_each, item) => batch.add(item)));
  // The bounds begin with 1, 2, 5 and 10. The batches of 3 and 5 count under the bound 5, the batch of 2 under the bound 2.
  expect(batch.sizes.counts.slice(0, 4)).toEqual([0, 1, 2, 0]);
  expect(batch.sizes.sum).toBe(10);
});
