import { describe, expect, test } from '@jest/globals';
import { HOUR, MINUTE } from './harness.js';
import type { Received } from './misbehaving-service.js';
import type { Attempt } from './socket-computer.js';
import { findViolations } from './year-guarantees.js';

const SECOND = 1000;
const LIMIT = { action: 'stop', code: 'machine_limit_reached' } as const;

function attempt(
  path: Attempt['path'],
  when: number,
  answer: Partial<Received>,
  isUserInitiated = false,
): Attempt {
  const body = { app_version: '3.1.0' };
  const received: Received = { path, method: 'POST', url: path, headers: {}, raw: '', body, ...answer };
  return { path, when, awake: when, status: 'running', isUserInitiated, isStalled: false, received };
}

/** Returns what the guarantees find in a run of an hour with these calls. */
const violations = (...calls: Attempt[]) =>
  findViolations({
    start: 0,
    startAwake: 0,
    endAwake: HOUR,
    appVersion: '3.1.0',
    isTelemetryOff: false,
    mayNeedNetwork: false,
    mustCallService: false,
    attempts: [...calls, attempt('/v1/manifest', 3 * MINUTE, { method: 'GET' })],
    states: [],
    log: ['heartbeat sent'],
  }).filter((sentence) => sentence.includes('activation'));

describe('an activation that the machine limit refused', () => {
  const clicked = attempt('/v1/activate', 10 * MINUTE, LIMIT, true);
  const heartbeat = attempt('/v1/heartbeat', 10 * MINUTE, { action: 'reactivate', code: 'token_invalid' });
  const requested = attempt('/v1/activate', 10 * MINUTE + SECOND, LIMIT);

  test('may be repeated after a click, for ten minutes', () => {
    expect(violations(clicked, attempt('/v1/activate', 20 * MINUTE, LIMIT))).toEqual([]);
    expect(violations(clicked, attempt('/v1/activate', 21 * MINUTE, LIMIT))).toHaveLength(1);
  });

  test('may not be repeated if only a heartbeat requested it', () => {
    expect(violations(heartbeat, requested)).toEqual([]);
    expect(violations(heartbeat, requested, attempt('/v1/activate', 11 * MINUTE, LIMIT))).toEqual([
      `an activation that was not asked for, at ${11 * MINUTE}`,
    ]);
  });
});
