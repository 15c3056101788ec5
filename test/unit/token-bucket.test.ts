import { expect, test } from '@jest/globals';
import { TokenBucket } from '../../src/http/limits/token-bucket.js';

const RATE = { perSecond: 2, capacity: 3 };

/** @returns a function that makes attempts on a new bucket after some time, and counts those that are allowed */
function attemptsOnBucket() {
  let now = 1_000;
  const tokens = new TokenBucket(RATE, () => now);
  return (milliseconds: number, attempts: number) => {
    now += milliseconds;
    return Array.from({ length: attempts }, () => tokens.take()).filter(Boolean).length;
  };
}

test('a bucket allows as many attempts as it has tokens, and then none', () => {
  const allowed = attemptsOnBucket();
  expect(allowed(0, 10)).toBe(3);
  expect(allowed(0, 10)).toBe(0);
});

test('a bucket refills at its rate, also for fractions of a second', () => {
  const allowed = attemptsOnBucket();
  allowed(0, 3);
  expect(allowed(499, 10)).toBe(0);
  expect(allowed(1, 10)).toBe(1);
  expect(allowed(1_000, 10)).toBe(2);
});

test('a bucket never has more tokens than its capacity, however long it was unused', () => {
  const allowed = attemptsOnBucket();
  allowed(0, 3);
  expect(allowed(86_400_000, 10)).toBe(3);
});
