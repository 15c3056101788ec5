import { expect, test } from '@jest/globals';
import { TokenBucket } from '../../src/http/limits/token-bucket.js';

const RATE = { perSecond: 2, capacity: 3 };

/** A bucket, and a function that counts how many attempts it allows after some time. */
function bucket() {
  let now = 1_000;
  const tokens = new TokenBucket(RATE, () => now);
  return (milliseconds: number, attempts: number) => {
    now += milliseconds;
    return Array.from({ length: attempts }, () => tokens.take()).filter(Boolean).length;
  };
}

test('allows as many attempts as it has tokens, and then none', () => {
  const taken = bucket();
  expect(taken(0, 10)).toBe(3);
  expect(taken(0, 10)).toBe(0);
});

test('refills at its rate, also for fractions of a second', () => {
  const taken = bucket();
  taken(0, 3);
  expect(taken(499, 10)).toBe(0);
  expect(taken(1, 10)).toBe(1);
  expect(taken(1_000, 10)).toBe(2);
});

test('never has more tokens than its capacity, however long it was unused', () => {
  const taken = bucket();
  taken(0, 3);
  expect(taken(86_400_000, 10)).toBe(3);
});
