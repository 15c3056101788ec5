import { expect, test } from '@jest/globals';
import { AcceptQueue } from '../../src/http/limits/accept-queue.js';
import { Random } from '../client/random.js';
import { printedSeed } from '../support/seed.js';

const SEED = printedSeed();

/** A queue whose turns and clock the test controls. */
function createQueue() {
  const state = { now: 0 };
  const callbacks: (() => void)[] = [];
  const queue = new AcceptQueue(
    () => state.now,
    () => undefined,
    (callback) => callbacks.push(callback),
  );
  /** Ends a turn of the event loop, in which at most one connection was accepted. */
  const turn = (milliseconds: number, hasConnection: boolean) => {
    state.now += milliseconds;
    if (hasConnection) queue.accepted();
    for (const callback of callbacks.splice(0)) callback();
  };
  return { state, queue, callbacks, turn };
}

test('the waiting time counts from the first connection that is accepted after an idle time', () => {
  const { queue, callbacks, turn } = createQueue();
  expect(queue.waitingMs).toBe(0);
  for (const _ of Array.from({ length: 6 })) turn(100, true);
  expect(queue.waitingMs).toBe(500);
  turn(100, false);
  expect(queue.waitingMs).toBe(0);
  // An idle event loop is not kept turning.
  expect(callbacks).toEqual([]);
});

test('no connection has waited over 50 ms longer than the waiting time says, except the first one after an idle time', () => {
  const random = new Random(SEED);
  const { state, queue, turn } = createQueue();
  const waiting: number[] = [];
  // After an idle time, `waitingMs` counts only from the end of the first turn, which takes at most 50 ms: hence the allowance.
  for (let step = 0; step < 20_000; step += 1) {
    const milliseconds = random.span(0.1, 50);
    if (random.chance(0.02)) for (let n = random.below(200); n > 0; n -= 1) waiting.push(state.now);
    const isIdle = queue.waitingMs === 0;
    const arrivedAt = waiting.shift();
    turn(milliseconds, arrivedAt !== undefined);
    if (arrivedAt !== undefined && !isIdle)
      expect(state.now - arrivedAt).toBeLessThanOrEqual(queue.waitingMs + 50);
  }
});

test('a shutdown waits for the first turn without a new connection', () => {
  const { queue, turn } = createQueue();
  let calls = 0;
  turn(1, true);
  queue.whenEmpty(() => (calls += 1), 1_000);
  turn(1, true);
  expect(calls).toBe(0);
  turn(1, false);
  turn(1, true);
  turn(1, false);
  expect(calls).toBe(1);
});

test('a shutdown of a service that is never idle waits for its limit', () => {
  const { queue, turn } = createQueue();
  let calls = 0;
  queue.whenEmpty(() => (calls += 1), 1_000);
  for (const _ of Array.from({ length: 9 })) turn(100, true);
  expect(calls).toBe(0);
  for (const _ of Array.from({ length: 9 })) turn(100, true);
  expect(calls).toBe(1);
});
