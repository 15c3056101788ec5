import { describe, expect, test } from '@jest/globals';
import { UNKNOWN_ID } from '../license-model.js';
import { check } from './checker.js';
import { planFaults } from './faults.js';
import type { Operation } from './history.js';
import { plan } from './plan.js';
import { shrinkHistory } from './shrink.js';
import {
  activate,
  heartbeat,
  stateWithLicense,
  withLostResponse,
  NOW,
  refusedActivate,
  refusedHeartbeat,
  release,
} from './written-operations.js';

const verdict = (...operations: Operation[]) => check(stateWithLicense(), operations).verdict;

describe('a history is linearizable if an order of its operations explains it:', () => {
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

describe('an operation without a response', () => {
  test('may have taken effect at once, later, or never', () => {
    const released = withLostResponse(release('A', [2, 3]));
    const first = activate('a', [0, 1], 'A');
    expect(verdict(first, released, heartbeat('A', [4, 5]))).toBe('linearizable');
    expect(verdict(first, released, refusedHeartbeat('A', [4, 5]))).toBe('linearizable');
    expect(verdict(first, released, heartbeat('A', [4, 5]), refusedHeartbeat('A', [6, 7]))).toBe(
      'linearizable',
    );
  });

  test('takes effect at most once, and not before it was invoked', () => {
    const first = activate('a', [0, 1], 'A');
    const [refused, confirmed] = [refusedHeartbeat('A', [4, 5]), heartbeat('A', [6, 7])];
    expect(verdict(first, withLostResponse(release('A', [2, 3])), refused, confirmed)).toBe(
      'not linearizable',
    );
    expect(verdict(first, refusedHeartbeat('A', [2, 3]), withLostResponse(release('A', [4, 5])))).toBe(
      'not linearizable',
    );
  });

  test('that created an activation gets the id of the activation from a later response', () => {
    const repeated = {
      ...activate('a', [4, 5], 'A'),
      outcome: { ...activate('a', [4, 5], 'A').outcome!, result: '200' },
    };
    expect(verdict(withLostResponse(activate('a', [0, 1], 'A')), repeated)).toBe('linearizable');
    expect(verdict(repeated)).toBe('not linearizable');
  });
});

test('a confirmation of a heartbeat by a replica may show the state before a release, but one by the primary may not', () => {
  const before = [activate('a', [0, 1], 'A'), release('A', [2, 3])];
  const fromReplica = (each: Operation): Operation => ({ ...each, earliest: -Infinity });
  expect(verdict(...before, fromReplica(heartbeat('A', [4, 5])))).toBe('linearizable');
  expect(verdict(...before, heartbeat('A', [4, 5]))).toBe('not linearizable');
});

test('an instance whose clock is set during an operation may have read the clock before or after it was set', () => {
  const expiring = stateWithLicense({ expires_at: NOW + 1000 });
  const template = activate('a', [0, 1], 'A');
  const accepted = { ...template, outcome: { ...template.outcome!, expires_at: NOW + 1000 } };
  const verdictWithClock = (from: number, to: number) =>
    check(expiring, [{ ...accepted, clock: [NOW + from, NOW + to] }]).verdict;
  expect([verdictWithClock(0, 0), verdictWithClock(0, 5000), verdictWithClock(5000, 5000)]).toEqual([
    'linearizable',
    'linearizable',
    'not linearizable',
  ]);
});

test('an aborted search does not count as linearizable', () => {
  const many = Array.from({ length: 6 }, (_, i) =>
    withLostResponse(activate(`machine ${i}`, [0, 1], UNKNOWN_ID)),
  );
  const impossible = activate('a', [2, 3], 'A', { inUse: 9, allowed: 9 });
  const maxVisited = 10;
  expect(check(stateWithLicense({ machines_allowed: 6 }), [...many, impossible], maxVisited).verdict).toBe(
    'undecided',
  );
  expect(check(stateWithLicense({ machines_allowed: 6 }), [...many, impossible]).verdict).toBe(
    'not linearizable',
  );
});

test('a history that is not linearizable is reduced to the operations of the contradiction', () => {
  const [excess, before] = [activate('b', [40, 41], 'B', { inUse: 2 }), activate('a', [0, 1], 'A')];
  const consistent = [2, 4, 6, 8].flatMap((at) => [
    heartbeat('A', [at, at + 1]),
    refusedActivate('b', [at + 10, at + 11]),
  ]);
  const { operations } = shrinkHistory(stateWithLicense(), [
    before,
    ...consistent,
    excess,
    heartbeat('B', [50, 51]),
  ]);
  expect(operations.map((each) => each.number)).toEqual([excess.number]);
  const released = [before, release('A', [2, 3]), ...[4, 6].map((at) => refusedHeartbeat('A', [at, at + 1]))];
  const kept = shrinkHistory(stateWithLicense(), [
    ...released,
    heartbeat('A', [8, 9]),
    activate('b', [10, 11], 'B'),
  ]);
  expect(kept.operations.map(({ command }) => command.type)).toEqual(['release', 'heartbeat']);
});

test('a seed always plans the same operations and faults, and another seed plans different ones', () => {
  expect(plan(7)).toEqual(plan(7));
  expect(plan(8)).not.toEqual(plan(7));
  expect(planFaults(7, 2000)).toEqual(planFaults(7, 2000));
  expect(planFaults(8, 2000)).not.toEqual(planFaults(7, 2000));
});
