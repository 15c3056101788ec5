import { expect, test } from '@jest/globals';
import { Admission } from '../../src/http/limits/admission.js';
import { Random } from '../client/random.js';
import { printedSeed } from '../support/seed.js';

const SEED = printedSeed();

/**
 * Arguments of `Admission`: the first is true for a heartbeat and false for a request for which a person waits, the second is
 * whether the request may wait for a slot.
 */
const [HEARTBEAT, PERSON, MAY_WAIT] = [true, false, true];
const LIMITS = { waitingMs: 500, maxQueuedMs: 250, concurrentRequests: 2_000 };

/** An admission whose clock, load and queue are all in `state`, which the test sets. */
function createAdmission(limits = LIMITS) {
  const state = { now: 0, activeMs: 0, waitingMs: 0, underWay: 0, length: undefined as number | undefined };
  const admission = new Admission(
    limits,
    state,
    state,
    () => state.now,
    () => state.activeMs,
  );
  /** Lets the service answer requests for a time, in which it is busy for a share of the time. */
  const answer = (count: number, milliseconds: number, busyShare = 1) => {
    for (let index = 0; index < count; index += 1) {
      state.now += milliseconds / count;
      state.activeMs += (milliseconds / count) * busyShare;
      admission.answered();
    }
  };
  return { state, admission, answer };
}

test('a heartbeat is refused when connections wait for longer than the limit, and a request of a person at twice the time', () => {
  const { state, admission } = createAdmission();
  const decisions = [0, 500, 501, 1_000, 1_001].map((waitingMs) => {
    state.waitingMs = waitingMs;
    return [admission.refusal(HEARTBEAT), admission.refusal(PERSON)];
  });
  expect(decisions).toEqual([
    [undefined, undefined],
    [undefined, undefined],
    ['waiting_time', undefined],
    ['waiting_time', undefined],
    ['waiting_time', 'waiting_time'],
  ]);
});

test('a short queue is no reason for a refusal, even if it is never empty', () => {
  const { state, admission, answer } = createAdmission();
  answer(1_000, 1_000);
  Object.assign(state, { waitingMs: 60_000, length: 499 });
  expect(admission.refusal(HEARTBEAT)).toBeUndefined();
  state.length = 501;
  expect([admission.refusal(HEARTBEAT), admission.refusal(PERSON)]).toEqual(['waiting_time', undefined]);
});

test('a queue that is nearly full is long for heartbeats, however fast the service answers', () => {
  const { state, admission, answer } = createAdmission();
  answer(10_000, 1_000);
  Object.assign(state, { waitingMs: 60_000, length: 767 });
  expect(admission.refusal(HEARTBEAT)).toBeUndefined();
  state.length = 768;
  expect([admission.refusal(HEARTBEAT), admission.refusal(PERSON)]).toEqual(['waiting_time', undefined]);
  state.waitingMs = 500;
  expect(admission.refusal(HEARTBEAT)).toBeUndefined();
});

test('a limit of 0 turns off the refusals by waiting time, and not those by the number in progress', () => {
  const { state, admission, answer } = createAdmission({ ...LIMITS, waitingMs: 0 });
  answer(100, 1_000);
  Object.assign(state, { waitingMs: 60_000, underWay: 1_999 });
  expect(admission.refusal(HEARTBEAT)).toBeUndefined();
  state.underWay = 2_000;
  expect(admission.refusal(PERSON)).toBe('concurrent_requests');
});

test('as many requests begin as the service answers in an eighth of the limit; the last fifth is for requests of people', () => {
  const { state, admission, answer } = createAdmission();
  state.underWay = 1_999;
  // Nothing was measured yet.
  expect(admission.freeSlots(HEARTBEAT)).toBe(Infinity);
  answer(4_000, 1_000);
  expect(admission.perSecond).toBeCloseTo(4_000);
  state.underWay = 150;
  expect([admission.freeSlots(HEARTBEAT), admission.freeSlots(PERSON)].map(Math.round)).toEqual([50, 100]);
});

test('a request that cannot wait is refused at the number answered in half of the limit, a heartbeat at 80 % of it', () => {
  const { state, admission, answer } = createAdmission();
  answer(1_000, 1_000);
  state.underWay = 199;
  expect(admission.refusal(HEARTBEAT)).toBeUndefined();
  state.underWay = 200;
  expect([admission.refusal(HEARTBEAT), admission.refusal(HEARTBEAT, MAY_WAIT)]).toEqual([
    'concurrent_requests',
    undefined,
  ]);
  expect(admission.refusal(PERSON)).toBeUndefined();
  state.underWay = 250;
  expect(admission.refusal(PERSON)).toBe('concurrent_requests');
});

test('an idle service is not taken for a slow one, and a slow one still has a hundred slots', () => {
  const { state, admission, answer } = createAdmission();
  answer(100, 100_000, 0.5);
  expect(admission.perSecond).toBe(1_000);
  answer(100, 100_000);
  expect(admission.perSecond).toBeCloseTo(1);
  state.underWay = 79;
  expect(admission.freeSlots(HEARTBEAT)).toBe(1);
});

test('the measured rate rises at once and falls slowly, because few answers may only mean that many requests were refused', () => {
  const { admission, answer } = createAdmission();
  answer(1_000, 1_000);
  answer(500, 1_000);
  expect(admission.perSecond).toBeGreaterThan(900);
  answer(4_000, 1_000);
  expect(admission.perSecond).toBeCloseTo(4_000);
});

test('however many requests arrive, a service refuses at most two for each answer, in addition to its first 500', () => {
  const random = new Random(SEED);
  const { state, admission } = createAdmission();
  // The queue is always long.
  state.waitingMs = 10_000;
  let [answers, refusals] = [0, 0];
  while (answers < 20_000) {
    if (admission.refusal(random.chance(0.9))) refusals += 1;
    else {
      answers += 1;
      admission.answered();
    }
  }
  // The budget begins with 500 refusals, and each answer adds two.
  expect(refusals).toBeLessThanOrEqual(500 + 2 * answers);
  expect(refusals).toBeGreaterThan(1.9 * answers);
});
