import { describe, expect, test } from '@jest/globals';
import { check } from './checker.js';
import { planFaults } from './faults.js';
import type { Operation } from './history.js';
import { plan } from './plan.js';
import { smallest } from './shrink.js';
import {
  activate,
  heartbeat,
  license,
  lost,
  NOW,
  refusedActivate,
  refusedHeartbeat,
  release,
} from './written-operations.js';

const verdict = (...operations: Operation[]) => check(license(), operations).verdict;
describe('a history is linearizable if an order of its operations explains it', () => {
  test('sequential operations', () => {
    expect(verdict(activate('a', [0, 1], 'A'), release('A', [2, 3]), activate('b', [4, 5], 'B'))).toBe(
      'linearizable',
    );
  });

  test('concurrent operations that took effect in another order than they were invoked', () => {
    expect(verdict(activate('a', [0, 1], 'A'), activate('b', [2, 9], 'B'), release('A', [3, 8]))).toBe(
      'linearizable',
    );
    expect(verdict(activate('a', [0, 1], 'A'), activate('b', [2, 3], 'B'), release('A', [4, 8]))).toBe(
      'not linearizable',
    );
  });

  test('two machines that compete for a license of one machine', () => {
    expect(verdict(activate('a', [0, 9], 'A'), refusedActivate('b', [0, 9]))).toBe('linearizable');
    expect(verdict(activate('a', [0, 9], 'A'), activate('b', [0, 9], 'B'))).toBe('not linearizable');
    expect(verdict(refusedActivate('a', [0, 9]), refusedActivate('b', [0, 9]))).toBe('not linearizable');
  });

  test('an operation that returned before another was invoked comes before it', () => {
    expect(verdict(activate('a', [0, 1], 'A'), release('A', [2, 5]), heartbeat('A', [3, 4]))).toBe(
      'linearizable',
    );
    expect(verdict(activate('a', [0, 1], 'A'), release('A', [2, 3]), heartbeat('A', [4, 5]))).toBe(
      'not linearizable',
    );
  });
});

describe('an operation without an answer', () => {
  test('may have taken effect at once, later, or never', () => {
    const released = lost(release('A', [2, 3]));
    const first = activate('a', [0, 1], 'A');
    expect(verdict(first, released, heartbeat('A', [4, 5]))).toBe('linearizable');
    expect(verdict(first, released, refusedHeartbeat('A', [4, 5]))).toBe('linearizable');
    expect(verdict(first, released, heartbeat('A', [4, 5]), refusedHeartbeat('A', [6, 7]))).toBe(
      'linearizable',
    );
  });

  test('takes effect at most once, and not before it was invoked', () => {
    const first = activate('a', [0, 1], 'A');
    const [gone, back] = [refusedHeartbeat('A', [4, 5]), heartbeat('A', [6, 7])];
    expect(verdict(first, lost(release('A', [2, 3])), gone, back)).toBe('not linearizable');
    expect(verdict(first, refusedHeartbeat('A', [2, 3]), lost(release('A', [4, 5])))).toBe(
      'not linearizable',
    );
  });

  test('gets its id from a later response', () => {
    const again = {
      ...activate('a', [4, 5], 'A'),
      outcome: { ...activate('a', [4, 5], 'A').outcome!, says: '200' },
    };
    expect(verdict(lost(activate('a', [0, 1], 'A')), again)).toBe('linearizable');
    expect(verdict(again)).toBe('not linearizable');
  });
});

test('a confirmation by a replica may be old, but a refusal may not', () => {
  const before = [activate('a', [0, 1], 'A'), release('A', [2, 3])];
  const old = (each: Operation): Operation => ({ ...each, earliest: -Infinity });
  expect(verdict(...before, old(heartbeat('A', [4, 5])))).toBe('linearizable');
  expect(verdict(...before, heartbeat('A', [4, 5]))).toBe('not linearizable');
});

test('a clock that is set during an operation may have been read before or after', () => {
  const expired = license({ expires_at: NOW + 1000 });
  const asked = activate('a', [0, 1], 'A');
  const answer = { ...asked, outcome: { ...asked.outcome!, expires_at: NOW + 1000 } };
  const at = (from: number, to: number) =>
    check(expired, [{ ...answer, clock: [NOW + from, NOW + to] }]).verdict;
  expect([at(0, 0), at(0, 5000), at(5000, 5000)]).toEqual([
    'linearizable',
    'linearizable',
    'not linearizable',
  ]);
});

test('an aborted search does not count as linearizable', () => {
  const many = Array.from({ length: 6 }, (_, i) => lost(activate(`machine ${i}`, [0, 1], '?')));
  const never = activate('a', [2, 3], 'A', 9, 9);
  expect(check(license({ machines_allowed: 6 }), [...many, never], 10).verdict).toBe('undecided');
  expect(check(license({ machines_allowed: 6 }), [...many, never]).verdict).toBe('not linearizable');
});

test('a history that is not linearizable is reduced to the operations of the contradiction', () => {
  const [over, before] = [activate('b', [40, 41], 'B', 2), activate('a', [0, 1], 'A')];
  const noise = [2, 4, 6, 8].flatMap((at) => [
    heartbeat('A', [at, at + 1]),
    refusedActivate('b', [at + 10, at + 11]),
  ]);
  const { operations } = smallest(license(), [before, ...noise, over, heartbeat('B', [50, 51])]);
  expect(operations.map((each) => each.number)).toEqual([over.number]);
  const released = [before, release('A', [2, 3]), ...[4, 6].map((at) => refusedHeartbeat('A', [at, at + 1]))];
  const kept = smallest(license(), [...released, heartbeat('A', [8, 9]), activate('b', [10, 11], 'B')]);
  expect(kept.operations.map(({ command }) => command.do)).toEqual(['release', 'heartbeat']);
});

test('a seed plans the same operations and faults each time, and another seed others', () => {
  expect(plan(7)).toEqual(plan(7));
  expect(plan(8)).not.toEqual(plan(7));
  expect(planFaults(7, 2000)).toEqual(planFaults(7, 2000));
  expect(planFaults(8, 2000)).not.toEqual(planFaults(7, 2000));
});
