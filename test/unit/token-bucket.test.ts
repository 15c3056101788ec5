import { expect, test } from '@jest/globals';
import { TokenBucket } from '../../src/http/limits/token-bucket.js';

const RATE = { perSecond: 2, capacity: 3 };

/** A bucket, and how many of so many attempts it lets through after a time. */
function bucket() {
  let now = 1_000;
  const tokens = new TokenBucket(RATE, () => now);
  return (milliseconds: number, attempts: number) => {
    now += milliseconds;
    return Array.from({ length: attempts }, () => tokens.take()).filter(Boolean).length;
  };
}

test('lets through what it holds, and then none', () => {
  const taken = bucket();
  expect(taken(0, 10)).toBe(3);
  expect(taken(0, 10)).toBe(0);
});

test('fills again at its rate, in parts of a second too', () => {
  const taken = bucket();
  taken(0, 3);
  expect(taken(499, 10)).toBe(0);
  expect(taken(1, 10)).toBe(1);
  expect(taken(1_000, 10)).toBe(2);
});

test('holds no more than its capacity, however long it was quiet', () => {
  const taken = bucket();
  taken(0, 3);
  expect(taken(86_400_000, 10)).toBe(3);
});
