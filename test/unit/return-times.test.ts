import { expect, test } from '@jest/globals';
import { retryHeartbeatMs } from '../../client/src/schedule.js';
import { ReturnTimes } from '../../src/http/limits/return-times.js';
import { Random } from '../client/random.js';
import { printedSeed } from '../support/seed.js';

const SEED = printedSeed();

const MINUTE_SECONDS = 60;
const HOUR_SECONDS = 60 * MINUTE_SECONDS;

/** Refuses requests, ten in each millisecond. @returns the seconds after which each may return */
function refuse(count: number, perSecond: number, random: Random): number[] {
  const times = new ReturnTimes();
  return Array.from({ length: count }, (_, index) => times.next(index / 10, perSecond, random.unit()));
}

test('requests that were refused together return as fast as the service can answer them', () => {
  const random = new Random(SEED);
  const perSecond = 500;
  const seconds = refuse(100_000, perSecond, random);
  expect(Math.min(...seconds)).toBe(MINUTE_SECONDS);
  // The reference client adds a tenth at most, and never comes earlier.
  const returns = seconds.map((each) => retryHeartbeatMs(1, each, random.unit()) / 1000);
  const bySecond = Map.groupBy(returns, Math.floor);
  const largest = Math.max(...[...bySecond.values()].map(({ length }) => length));
  expect(largest).toBeLessThan(1.25 * perSecond);
  const lastReturn = Math.max(...returns);
  expect(lastReturn).toBeLessThan(1.15 * (100_000 / perSecond) + MINUTE_SECONDS * 1.2);
});

test('requests that are refused later return later, and after a pause the times begin again', () => {
  const times = new ReturnTimes();
  const next = (now: number) => times.next(now, 1, 0);
  const first = Array.from({ length: 100 }, () => next(0));
  expect([first[0], first.at(-1)]).toEqual([61, 160]);
  expect(next(50_000)).toBe(111);
  expect(next(500_000)).toBe(61);
});

test('six hours after an overload of many hours the times begin again', () => {
  const times = new ReturnTimes();
  const millisecondsOf = (hours: number) => hours * HOUR_SECONDS * 1000;
  // For twelve hours twice as many requests are refused as can be answered.
  for (let now = 0; now < millisecondsOf(12); now += 500) times.next(now, 1, 0.5);
  expect(times.next(millisecondsOf(12 + 3), 1, 0)).toBeLessThanOrEqual(3 * HOUR_SECONDS + 2);
  expect(times.next(millisecondsOf(12 + 6.1), 1, 0)).toBe(61);
});

test('no time is longer than the reference client waits; the requests beyond that return at random times', () => {
  const seconds = refuse(50_000, 1, new Random(1));
  expect(Math.max(...seconds)).toBeLessThanOrEqual(6 * HOUR_SECONDS);
  const late = seconds.slice(40_000);
  expect(late.filter((each) => each < HOUR_SECONDS).length).toBeGreaterThan(1_000);
  expect(late.filter((each) => each > 5 * HOUR_SECONDS).length).toBeGreaterThan(1_000);
});
