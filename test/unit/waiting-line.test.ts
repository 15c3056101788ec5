import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { problem } from '../../src/http/problems/problem.js';
import { waitedMs, WaitingLine } from '../../src/http/limits/waiting-line.js';

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
});
afterEach(() => {
  jest.useRealTimers();
});

const WAIT_MS = 500;

/** A line whose places and refusals the test sets. `events` lists what happened to the requests. */
function createLine() {
  const state = { places: 0, refusals: 0 };
  const events: string[] = [];
  const line = new WaitingLine(
    {
      freePlaces: (isBackground) => (isBackground ? state.places - 1 : state.places),
      takeRefusal: () => (state.refusals > 0 ? Boolean(state.refusals--) : false),
    },
    { waitingMs: 500, lineMs: WAIT_MS, concurrentRequests: 4 },
    () => Date.now(),
    () => problem('unavailable'),
  );
  const arrive = (name: string, isBackground = true) => {
    const socket = { destroyed: false };
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    const waits = line.waitIfFull({
      isBackground,
      socket,
      response,
      begin: () => events.push(`${name} begins`),
      respond: ({ status }) => events.push(`${name} ${status}`),
    });
    return { waits, socket, response };
  };
  return { state, events, line, arrive };
}

test('a request with a free place does not wait', () => {
  const { state, line, arrive } = createLine();
  state.places = 1;
  expect([arrive('heartbeat').waits, arrive('activation', false).waits, line.length]).toEqual([
    true,
    false,
    1,
  ]);
});

test('the newest request begins first, that of a person before others, and each only in a free place', () => {
  const { state, events, line, arrive } = createLine();
  for (const name of ['first', 'second', 'third']) arrive(name);
  arrive('activation', false);
  state.places = 1;
  for (let answers = 0; answers < 2; answers += 1) line.fillPlace();
  expect(events).toEqual(['activation begins']);
  state.places = 2;
  for (let answers = 0; answers < 3; answers += 1) line.fillPlace();
  line.fillPlace();
  expect(events.slice(1)).toEqual(['third begins', 'second begins', 'first begins']);
});

test('the oldest request is refused first, that of a person last, within the budget, and not before a burst could end', () => {
  const { state, events, line, arrive } = createLine();
  arrive('activation', false);
  for (const name of ['first', 'second', 'third']) arrive(name);
  state.refusals = 1;
  line.fillPlace();
  expect(events).toEqual([]);
  jest.advanceTimersByTime(WAIT_MS);
  expect(events).toEqual(['first 503']);
  arrive('fourth');
  state.refusals = 4;
  line.fillPlace();
  expect(events.slice(1)).toEqual(['second 503', 'third 503', 'activation 503']);
});

test('a request whose client has gone neither begins nor takes a refusal', () => {
  const { state, events, line, arrive } = createLine();
  arrive('first');
  const { socket } = arrive('second');
  socket.destroyed = true;
  state.places = 2;
  line.fillPlace();
  expect(events).toEqual(['first begins']);
  arrive('third').socket.destroyed = true;
  state.places = 1;
  state.refusals = 1;
  jest.advanceTimersByTime(WAIT_MS);
  expect([events, state.refusals, line.length]).toEqual([['first begins'], 1, 0]);
});

test('a request that has waited twice as long is refused without a budget', () => {
  const { events, arrive } = createLine();
  arrive('first');
  jest.advanceTimersByTime(WAIT_MS);
  arrive('second');
  jest.advanceTimersByTime(WAIT_MS + 50);
  expect(events).toEqual(['first 503']);
  jest.advanceTimersByTime(WAIT_MS);
  expect(events).toEqual(['first 503', 'second 503']);
  expect(jest.getTimerCount()).toBe(0);
});

test('places that become free without an answer are filled, not more than there are', () => {
  const { state, events, arrive } = createLine();
  for (const name of ['first', 'second', 'third', 'fourth']) arrive(name);
  state.places = 3;
  jest.advanceTimersByTime(50);
  expect(events).toEqual(['fourth begins', 'third begins']);
});

test('a request is refused at once if as many wait as may be in progress', () => {
  const { events, line, arrive } = createLine();
  for (const name of ['first', 'second', 'third', 'fourth', 'fifth']) arrive(name);
  expect([events, line.length]).toEqual([['fifth 503'], 4]);
});

test('the time that a request waited is known when it begins or is refused', () => {
  const { state, line, arrive } = createLine();
  const { response: refused } = arrive('first');
  jest.advanceTimersByTime(100);
  const { response: begun } = arrive('second');
  expect(waitedMs(begun)).toBe(0);
  jest.advanceTimersByTime(20);
  state.places = 2;
  line.fillPlace();
  state.places = 0;
  jest.advanceTimersByTime(2 * WAIT_MS);
  expect(waitedMs(begun)).toBe(20);
  expect(waitedMs(refused)).toBe(2 * WAIT_MS);
});

test('at the shutdown all waiting requests begin', () => {
  const { events, line, arrive } = createLine();
  arrive('first');
  arrive('activation', false);
  line.end();
  expect([events, line.length]).toEqual([['activation begins', 'first begins'], 0]);
});
