import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { problem } from '../../src/http/problems/problem.js';
import { waitedMs, RequestQueue } from '../../src/http/limits/request-queue.js';

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
});
afterEach(() => {
  jest.useRealTimers();
});

const WAIT_MS = 500;
/** The interval at which the queue looks for free slots. */
const CHECK_MS = 50;

/** A queue whose slots the test sets; one slot is for people only. `events` lists what happened to the requests. */
function createQueue() {
  const state = { slots: 0 };
  const events: string[] = [];
  const queue = new RequestQueue(
    { freeSlots: (isBackground) => (isBackground ? state.slots - 1 : state.slots) },
    { waitingMs: WAIT_MS, maxQueuedMs: WAIT_MS, concurrentRequests: 4 },
    () => Date.now(),
    () => problem('unavailable'),
  );
  const arrive = (name: string, isBackground = true) => {
    const socket = { destroyed: false };
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    const waits = queue.waitIfFull({
      isBackground,
      socket,
      response,
      begin: () => events.push(`${name} begins`),
      respond: ({ status }) => events.push(`${name} ${status}`),
    });
    return { waits, socket, response };
  };
  return { state, events, queue, arrive };
}

test('a request with a free slot does not wait', () => {
  const { state, queue, arrive } = createQueue();
  state.slots = 1;
  expect([arrive('heartbeat').waits, arrive('activation', false).waits, queue.length]).toEqual([
    true,
    false,
    1,
  ]);
});

test('requests begin in the order of arrival, those of people before others, and each only in a free slot', () => {
  const { state, events, queue, arrive } = createQueue();
  for (const name of ['first', 'second', 'third']) arrive(name);
  arrive('activation', false);
  state.slots = 1;
  for (let answers = 0; answers < 2; answers += 1) queue.fillSlot();
  expect(events).toEqual(['activation begins']);
  state.slots = 2;
  for (let answers = 0; answers < 3; answers += 1) queue.fillSlot();
  // The queue is empty now.
  queue.fillSlot();
  expect(events.slice(1)).toEqual(['first begins', 'second begins', 'third begins']);
});

test('a request is refused when it has waited for the limit, and not before, because a burst may end by then', () => {
  const { events, arrive } = createQueue();
  arrive('first');
  arrive('activation', false);
  jest.advanceTimersByTime(CHECK_MS);
  arrive('second');
  jest.advanceTimersByTime(WAIT_MS - CHECK_MS - 1);
  expect(events).toEqual([]);
  jest.advanceTimersByTime(1);
  expect(events).toEqual(['activation 503', 'first 503']);
  jest.advanceTimersByTime(CHECK_MS);
  expect(events.slice(2)).toEqual(['second 503']);
  expect(jest.getTimerCount()).toBe(0);
});

test('a request whose client has gone neither begins nor is refused', () => {
  const { state, events, queue, arrive } = createQueue();
  const { socket } = arrive('first');
  arrive('second');
  socket.destroyed = true;
  state.slots = 2;
  queue.fillSlot();
  expect(events).toEqual(['second begins']);
  state.slots = 0;
  arrive('third').socket.destroyed = true;
  jest.advanceTimersByTime(WAIT_MS);
  expect([events, queue.length]).toEqual([['second begins'], 0]);
});

test('slots that become free without an answer are filled, not more than there are', () => {
  const { state, events, arrive } = createQueue();
  for (const name of ['first', 'second', 'third', 'fourth']) arrive(name);
  state.slots = 3;
  jest.advanceTimersByTime(CHECK_MS);
  expect(events).toEqual(['first begins', 'second begins']);
});

test('a request is refused at once if as many wait as may be in progress', () => {
  const { events, queue, arrive } = createQueue();
  for (const name of ['first', 'second', 'third', 'fourth', 'fifth']) arrive(name);
  expect([events, queue.length]).toEqual([['fifth 503'], 4]);
});

test('the time that a request waited is known when it begins or is refused', () => {
  const { state, queue, arrive } = createQueue();
  const { response: begun } = arrive('first');
  expect(waitedMs(begun)).toBe(0);
  jest.advanceTimersByTime(CHECK_MS);
  const { response: refused } = arrive('second');
  state.slots = 2;
  queue.fillSlot();
  state.slots = 0;
  jest.advanceTimersByTime(WAIT_MS);
  expect(waitedMs(begun)).toBe(CHECK_MS);
  expect(waitedMs(refused)).toBe(WAIT_MS);
});

test('at the shutdown all waiting requests begin', () => {
  const { events, queue, arrive } = createQueue();
  arrive('first');
  arrive('activation', false);
  queue.end();
  expect([events, queue.length]).toEqual([['activation begins', 'first begins'], 0]);
});
