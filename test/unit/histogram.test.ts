import { expect, test } from '@jest/globals';
import { Batch } from '../../src/database/batch.js';
import { Histogram } from '../../src/core/histogram.js';

test('a value is counted once, at the smallest bound that is not below it', () => {
  const histogram = new Histogram([1, 2, 5]);
  for (const value of [0, 1, 1.5, 2, 5, 5.1, 1_000]) histogram.add(value);
  expect(histogram).toMatchObject({ counts: [2, 2, 1, 2], sum: 1_014.6 });
});

test('calls of one turn are one batch of their number, and no batch is larger than it may be', async () => {
  const batch = new Batch<number, number>(async (items) => items, 5);
  expect(await Promise.all([1, 2, 3].map((item) => batch.add(item)))).toEqual([1, 2, 3]);
  await Promise.all(Array.from({ length: 7 }, (_each, item) => batch.add(item)));
  // 3 and 5 at the bound 5, 2 at its own.
  expect(batch.sizes.counts.slice(0, 4)).toEqual([0, 1, 2, 0]);
  expect(batch.sizes.sum).toBe(10);
});
