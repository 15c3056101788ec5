import { expect, test } from '@jest/globals';
import { RateLimit } from '../../src/http/limits/rate-limit.js';

// The parameters of RateLimit: the limit of attempts, the period in seconds, the limit of known clients, and the clock.

/** Makes one attempt for each client, in this order. @returns `counted` or the error code of each */
const codesOf = (limit: RateLimit, ...clients: string[]) =>
  clients.map((client) => {
    try {
      limit.count(client);
      return 'counted';
    } catch (refused) {
      return (refused as { code: string }).code;
    }
  });

/** @returns the header `retry-after` of the refusal, or undefined if the work is not refused */
const retryAfter = (work: () => void) => {
  try {
    work();
  } catch (refused) {
    return (refused as { headers: Record<string, string> }).headers['retry-after'];
  }
  return undefined;
};

test('the next attempt of a client that has reached the limit is refused, and no other client is', () => {
  const limit = new RateLimit(2, 60);
  expect(codesOf(limit, 'ada', 'ada', 'ada', 'grace')).toEqual([
    'counted',
    'counted',
    'too_many_requests',
    'counted',
  ]);
});

test('the period begins with the first attempt; a refusal says how long it still lasts, and then counting starts again', () => {
  let now = 5_000;
  const limit = new RateLimit(2, 60, 10, () => now);
  limit.count('ada');
  now += 20_000;
  limit.count('ada');
  expect(retryAfter(() => limit.count('ada'))).toBe('40');
  now += 39_999;
  expect(retryAfter(() => limit.count('ada'))).toBe('1');
  now += 1;
  expect(codesOf(limit, 'ada', 'ada', 'ada')).toEqual(['counted', 'counted', 'too_many_requests']);
});

test('a check refuses if the next attempt would be refused, and counts nothing', () => {
  const limit = new RateLimit(1, 60);
  for (let times = 0; times < 3; times += 1) limit.check('ada');
  expect(codesOf(limit, 'ada')).toEqual(['counted']);
  expect(retryAfter(() => limit.check('ada'))).toBe('60');
});

test('an attempt whose work fails is taken back, and counts while the work runs', async () => {
  const limit = new RateLimit(2, 60);
  const work = Promise.withResolvers<string>();
  const attempt = limit.countUnlessFailed('ada', () => work.promise);
  expect(codesOf(limit, 'ada', 'ada')).toEqual(['counted', 'too_many_requests']);
  work.reject(new Error('no database'));
  await expect(attempt).rejects.toThrow('no database');
  expect(await limit.countUnlessFailed('ada', async () => 'done')).toBe('done');
  expect(codesOf(limit, 'ada')).toEqual(['too_many_requests']);
  await expect(limit.countUnlessFailed('ada', async () => 'done')).rejects.toMatchObject({
    code: 'too_many_requests',
  });
});

test('an attempt of a period that has ended is not taken back from the next period', async () => {
  let now = 0;
  const limit = new RateLimit(1, 60, 10, () => now);
  const work = Promise.withResolvers<void>();
  const attempt = limit.countUnlessFailed('ada', () => work.promise);
  now += 60_000;
  limit.count('ada');
  work.reject(new Error('no database'));
  await expect(attempt).rejects.toThrow('no database');
  expect(codesOf(limit, 'ada')).toEqual(['too_many_requests']);
});

test('above the limit of known clients, the clients with the fewest attempts are forgotten, the oldest of them first', () => {
  const limit = new RateLimit(3, 60, 3);
  codesOf(limit, 'twice', 'once', 'twice', 'once too');
  // Forgets `once`, then `once too`.
  codesOf(limit, 'd', 'e');
  expect(codesOf(limit, 'twice', 'twice')).toEqual(['counted', 'too_many_requests']);
  // The earlier attempt of `once` no longer counts.
  expect(codesOf(limit, 'once', 'once', 'once', 'once')).toEqual([
    ...Array<string>(3).fill('counted'),
    'too_many_requests',
  ]);
});

test('a client that has reached its limit is not forgotten, however many others come', () => {
  const limit = new RateLimit(10, 60, 50);
  codesOf(limit, ...Array<string>(10).fill('ada'));
  for (let number = 0; number < 5_000; number += 1) codesOf(limit, `other ${number}`, `other ${number}`);
  expect(codesOf(limit, 'ada')).toEqual(['too_many_requests']);
});

test('if all known clients have reached their limit, a new one is not limited, and the known ones stay limited', () => {
  const limit = new RateLimit(1, 60, 3);
  // `d` is the new one: it is not refused, so the list has `counted` for it.
  expect(codesOf(limit, 'a', 'b', 'c', 'd', 'd')).toEqual(Array(5).fill('counted'));
  expect(codesOf(limit, 'a', 'b', 'c')).toEqual(Array(3).fill('too_many_requests'));
});

test('a client whose period has ended is forgotten, so that another can be counted', () => {
  let now = 0;
  const limit = new RateLimit(1, 60, 1, () => now);
  codesOf(limit, 'a');
  now = 60_000;
  expect(codesOf(limit, 'b', 'b')).toEqual(['counted', 'too_many_requests']);
});
