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

/** Returns the violations about activations and the pace of heartbeats in a run of one hour with these calls. */
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
  }).filter((sentence) => /activation|heartbeats|retry-after/.test(sentence));

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

describe('a heartbeat soon after another one', () => {
  const first = (retry?: number) =>
    attempt('/v1/heartbeat', 10 * MINUTE, retry === undefined ? {} : { retry_after_seconds: retry });
  const second = attempt('/v1/heartbeat', 11 * MINUTE, {});
  const click = (answer: Partial<Received>) => attempt('/v1/activate', 10 * MINUTE + SECOND, answer, true);

  test('needs a retry-after, which it observes', () => {
    expect(violations(first(60), second)).toEqual([]);
    expect(violations(first(), second)).toEqual(['two heartbeats within 60000 ms, without a reason']);
    expect(violations(first(61), second)).toEqual([
      'a retry-after of 61 s was not observed: the next call came after 60000 ms',
    ]);
  });

  test('is not explained by the retry-after of a failed activation after a click, only by that of the first heartbeat', () => {
    expect(violations(first(), click({ retry_after_seconds: 60 }), second)).toHaveLength(1);
    expect(violations(first(60), click({}), second)).toEqual([]);
  });

  test('is not explained by a retry-after that was received before a confirmed activation', () => {
    expect(violations(first(60), click({ isConfirmed: true }), second)).toHaveLength(1);
  });

  test('is explained by the answer to an activation that the first one requested', () => {
    const asking = attempt('/v1/heartbeat', 10 * MINUTE, { action: 'reactivate' });
    const requested = (answer: Partial<Received>) => attempt('/v1/activate', 10 * MINUTE, answer);
    expect(violations(asking, requested({ retry_after_seconds: 60 }), second)).toEqual([]);
    expect(violations(asking, requested({}), second)).toHaveLength(1);
  });
});
