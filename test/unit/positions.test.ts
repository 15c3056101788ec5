import { beforeEach, expect, test } from '@jest/globals';
import { MAX_LAG_MS, MAX_POSITION_AGE_MS, ReplicaPositions } from '../../src/heartbeat/replica-position.js';

const START = Date.parse('2026-11-20T13:00:00Z');
const MINUTE = 60_000;

let positions: ReplicaPositions;
beforeEach(() => void (positions = new ReplicaPositions()));

/** What is needed, as positions are seen every two seconds from the start to a moment. */
function neededAfter(milliseconds: number): string | undefined {
  let needed: string | undefined;
  for (let at = 0; at <= milliseconds; at += 2_000) {
    positions.record(`0/${at}`, START + at);
    needed = positions.required(START + at);
  }
  return needed;
}

test('a lag of a minute, and a day without the primary', () => {
  expect([MAX_LAG_MS, MAX_POSITION_AGE_MS]).toEqual([MINUTE, 24 * 60 * MINUTE]);
});

test('before the primary was seen, no replica is believed', () => {
  expect(positions.required(START)).toBeUndefined();
});

test('in the first minute all is needed that was seen at the start', () => {
  expect(neededAfter(MINUTE)).toBe('0/0');
});

test('what was written more than a minute ago is always needed', () => {
  expect(neededAfter(10 * MINUTE)).toBe(`0/${9 * MINUTE}`);
  expect(positions.required(START + 10 * MINUTE + 1)).toBe(`0/${9 * MINUTE + 2_000}`);
});

test('while the primary is unavailable, all is needed that was seen of it last, for a day', () => {
  neededAfter(MINUTE);
  expect(positions.required(START + 3 * MINUTE)).toBe(`0/${MINUTE}`);
  expect(positions.required(START + MINUTE + MAX_POSITION_AGE_MS)).toBe(`0/${MINUTE}`);
  expect(positions.required(START + MINUTE + MAX_POSITION_AGE_MS + 1)).toBeUndefined();
});

test('a clock that is set back makes it stricter, not laxer', () => {
  neededAfter(MINUTE);
  positions.record('0/later', START - 60 * MINUTE);
  expect(positions.required(START - 60 * MINUTE)).toBe('0/later');
});

test('a clock that is set back while the primary is unavailable makes no replica believed for longer', () => {
  neededAfter(MINUTE);
  expect(positions.required(START - 60 * MINUTE)).toBeUndefined();
});

test('of two positions seen in one millisecond the lower one is enough', () => {
  positions.record('0/1', START);
  positions.record('0/2', START);
  expect(positions.required(START)).toBe('0/1');
});
