import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { problem } from '../../src/http/problems/problem.js';
import { WaitingLine } from '../../src/http/limits/waiting-line.js';

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
    WAIT_MS,
    () => Date.now(),
    () => problem('unavailable'),
  );
  const arrive = (name: string, isBackground = true) => {
    const response = { destroyed: false };
    const waits = line.waits({
      isBackground,
      response,
      begin: () => events.push(`${name} begins`),
      respond: ({ status }) => events.push(`${name} ${status}`),
    });
    return { waits, response };
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
  for (let answers = 0; answers < 2; answers += 1) line.placeIsFree();
  expect(events).toEqual(['activation begins']);
  state.places = 2;
  for (let answers = 0; answers < 3; answers += 1) line.placeIsFree();
  line.placeIsFree();
  expect(events.slice(1)).toEqual(['third begins', 'second begins', 'first begins']);
});

test('the oldest request is refused first, that of a person last, within the budget, and not before a burst could end', () => {
  const { state, events, line, arrive } = createLine();
  arrive('activation', false);
  for (const name of ['first', 'second', 'third']) arrive(name);
  state.refusals = 1;
  line.placeIsFree();
  expect(events).toEqual([]);
  jest.advanceTimersByTime(WAIT_MS);
  expect(events).toEqual(['first 503']);
  arrive('fourth');
  state.refusals = 4;
  line.placeIsFree();
  expect(events.slice(1)).toEqual(['second 503', 'third 503', 'activation 503']);
});

test('a request whose client has gone neither begins nor takes a refusal', () => {
  const { state, events, line, arrive } = createLine();
  arrive('first');
  const { response } = arrive('second');
  response.destroyed = true;
  state.places = 2;
  line.placeIsFree();
  expect(events).toEqual(['first begins']);
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

test('at the shutdown all waiting requests begin', () => {
  const { events, line, arrive } = createLine();
  arrive('first');
  arrive('activation', false);
  line.end();
  expect([events, line.length]).toEqual([['activation begins', 'first begins'], 0]);
});
