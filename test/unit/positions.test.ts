import { beforeEach, expect, test } from '@jest/globals';
import { MAX_LAG_MS, MAX_POSITION_AGE_MS, PrimaryPositions } from '../../src/heartbeat/primary-positions.js';

const START = Date.parse('2026-11-20T13:00:00Z');
const MINUTE_MS = 60_000;

let positions: PrimaryPositions;
beforeEach(() => void (positions = new PrimaryPositions()));

/** Records a position every two seconds for this time. @returns the position that a replica then needs */
function requiredAfter(milliseconds: number): string | undefined {
  let required: string | undefined;
  for (let at = 0; at <= milliseconds; at += 2_000) {
    positions.record(`0/${at}`, START + at);
    required = positions.requiredPosition(START + at);
  }
  return required;
}

test('a replica may lag by a minute, and confirm heartbeats for a day without the primary', () => {
  expect([MAX_LAG_MS, MAX_POSITION_AGE_MS]).toEqual([MINUTE_MS, 24 * 60 * MINUTE_MS]);
});

test('before a position of the primary is known, no replica is used', () => {
  expect(positions.requiredPosition(START)).toBeUndefined();
});

test('in the first minute a replica needs the position that was read at the start', () => {
  expect(requiredAfter(MINUTE_MS)).toBe('0/0');
});

test('a replica needs all that was written more than a minute ago', () => {
  expect(requiredAfter(10 * MINUTE_MS)).toBe(`0/${9 * MINUTE_MS}`);
  expect(positions.requiredPosition(START + 10 * MINUTE_MS + 1)).toBe(`0/${9 * MINUTE_MS + 2_000}`);
});

test('while the primary is unavailable, a replica needs the last known position of the primary, and is used for a day', () => {
  requiredAfter(MINUTE_MS);
  expect(positions.requiredPosition(START + 3 * MINUTE_MS)).toBe(`0/${MINUTE_MS}`);
  expect(positions.requiredPosition(START + MINUTE_MS + MAX_POSITION_AGE_MS)).toBe(`0/${MINUTE_MS}`);
  expect(positions.requiredPosition(START + MINUTE_MS + MAX_POSITION_AGE_MS + 1)).toBeUndefined();
});

test('after a clock was set back, a replica needs the newest position', () => {
  requiredAfter(MINUTE_MS);
  positions.record('0/later', START - 60 * MINUTE_MS);
  expect(positions.requiredPosition(START - 60 * MINUTE_MS)).toBe('0/later');
});

test('a clock that is set back while the primary is unavailable does not extend the use of a replica', () => {
  requiredAfter(MINUTE_MS);
  expect(positions.requiredPosition(START - 60 * MINUTE_MS)).toBeUndefined();
});

test('of two positions read in one millisecond, the lower one is enough', () => {
  positions.record('0/1', START);
  positions.record('0/2', START);
  expect(positions.requiredPosition(START)).toBe('0/1');
});
