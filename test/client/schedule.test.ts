import { describe, expect, test } from '@jest/globals';
import * as schedule from '../../client/src/schedule.js';
import { HOUR, MINUTE } from './harness.js';

const SECOND = 1_000;

describe('the delay of the', () => {
  test.each<[string, number, number, (random: number) => number]>([
    ['first heartbeat', 2.5 * MINUTE, 8 * MINUTE, schedule.firstHeartbeatMs],
    ['first read of the manifest', 2.5 * MINUTE, 20 * MINUTE, schedule.firstManifestMs],
    ['next read of the manifest', 23 * HOUR, 25 * HOUR, schedule.nextManifestMs],
    ...(
      [
        [undefined, 6],
        [Number.NaN, 6],
        [Infinity, 6],
        [6.5 * 3_600, 6.5],
        [0, 5.5],
        [1e9, 12],
      ] as const
    ).map(
      ([asked, hours]) =>
        [
          `heartbeat for a requested interval of ${asked} s`,
          hours * HOUR * 0.95,
          hours * HOUR * 1.05,
          (random: number) => schedule.nextHeartbeatMs(asked, random),
        ] as [string, number, number, (random: number) => number],
    ),
  ])('%s is from %d to %d ms', (_name, low, high, call) => {
    expect(call(0)).toBeCloseTo(low, 3);
    expect(call(1)).toBeCloseTo(high, 3);
  });
});

describe('after calls that were not confirmed', () => {
  test.each([
    [1, 0, MINUTE],
    [0, 0, MINUTE],
    [2, 0, 2 * MINUTE],
    [6, 0, 32 * MINUTE],
    [7, 0, HOUR],
    [9, 0, HOUR],
    [1, 600, 10 * MINUTE],
    [1, 1e9, 6 * HOUR],
  ])(
    '(%d in a row, with a retry-after of %d s) an application that runs waits at least %d ms',
    (failures, asked, ms) => {
      expect(schedule.retryHeartbeatMs(failures, asked, 0)).toBe(ms);
      expect(schedule.retryHeartbeatMs(failures, asked, 1)).toBeCloseTo(1.1 * ms, 3);
    },
  );

  test('without a retry-after, an application that runs waits about six hours', () => {
    expect(schedule.retryHeartbeatMs(1, undefined, 0)).toBeCloseTo(5.4 * HOUR, 3);
    expect(schedule.retryHeartbeatMs(9, undefined, 1)).toBeCloseTo(6.6 * HOUR, 3);
  });

  test.each([
    [0, undefined, 30 * SECOND],
    [1, undefined, 30 * SECOND],
    [2, undefined, 60 * SECOND],
    [5, undefined, 8 * MINUTE],
    [6, undefined, 15 * MINUTE],
    [9, 0, 15 * MINUTE],
    [1, 600, 10 * MINUTE],
    [1, 1e9, 6 * HOUR],
  ])(
    '(%d in a row, with a retry-after of %p s) a client that waits for the network retries after at least %d ms',
    (failures, asked, ms) => {
      expect(schedule.retryForNetworkMs(failures, asked, 0)).toBe(ms);
      expect(schedule.retryForNetworkMs(failures, asked, 1)).toBe(1.25 * ms);
    },
  );

  test('the delay is the short one only while the application waits for the network', () => {
    const end = { kind: 'unconfirmed', retry_after_seconds: undefined } as const;
    expect(schedule.afterCallMs(end, { isWaitingForNetwork: true, failures: 2 }, 0)).toBe(MINUTE);
    expect(schedule.afterCallMs(end, { isWaitingForNetwork: false, failures: 2 }, 0)).toBeCloseTo(
      5.4 * HOUR,
      3,
    );
  });
});
