import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import * as schedule from '../../client/src/schedule.js';
import {
  telemetryBlock,
  isTelemetryDisabled,
  type CrashSignature,
  type Telemetry,
} from '../../client/src/telemetry.js';
import { EVERY_FIELD } from '../telemetry/every-field.js';
import { DAY, Computer, HOUR, json, MINUTE, problem, type RecordedCall } from './harness.js';

const gaps = (calls: RecordedCall[]) => calls.slice(1).map((call, i) => call.when - calls[i]!.when);

/** Starts an application that was activated earlier. */
async function startActivated(random = 0.5): Promise<{ computer: Computer; start: number }> {
  const computer = await Computer.activated();
  await computer.restart({ random: () => random });
  return { computer, start: computer.time.monotonic };
}

describe('the schedule', () => {
  test.each([0, 0.5, 0.999])(
    'the first heartbeat comes a few minutes after the start (random %p)',
    async (random) => {
      const { computer, start } = await startActivated(random);
      await computer.advanceTime(2 * MINUTE);
      expect(computer.service.heartbeats).toEqual([]);
      await computer.advanceTime(8 * MINUTE);
      expect(computer.service.heartbeats).toHaveLength(1);
      expect(computer.service.heartbeats[0]!.when - start).toBeGreaterThan(2 * MINUTE);
    },
  );

  test.each([0, 0.5, 0.999])(
    'the next heartbeats follow about every six hours (random %p)',
    async (random) => {
      const { computer } = await startActivated(random);
      await computer.advanceTime(7 * DAY);
      const waits = gaps(computer.service.heartbeats);
      expect(waits.length).toBeGreaterThan(25);
      for (const wait of waits) {
        expect(wait).toBeGreaterThan(5.5 * HOUR);
        expect(wait).toBeLessThan(6.5 * HOUR);
      }
    },
  );

  test('the client uses another interval if the service asks for it', async () => {
    const { computer } = await startActivated();
    computer.service.answer['/v1/heartbeat'] = () =>
      computer.service.confirm(200, { heartbeat_after_seconds: 8 * 3600 });
    await computer.advanceTime(2 * DAY);
    expect(new Set(gaps(computer.service.heartbeats))).toEqual(new Set([8 * HOUR]));
  });

  test.each([0, 1, -5, 1e300, 1e12, null, 'soon', Number.NaN])(
    'an interval of %p leads to waits of 5 to 13 hours',
    async (heartbeat_after_seconds) => {
      const { computer } = await startActivated();
      computer.service.answer['/v1/heartbeat'] = () =>
        computer.service.confirm(200, { heartbeat_after_seconds });
      await computer.advanceTime(5 * DAY);
      for (const wait of gaps(computer.service.heartbeats)) {
        expect(wait).toBeGreaterThan(5 * HOUR);
        expect(wait).toBeLessThan(13 * HOUR);
      }
      expect(computer.service.heartbeats.length).toBeGreaterThan(9);
    },
  );

  test('without a retry-after, heartbeats are over five hours apart, whatever was asked and however many calls fail', () => {
    const unit = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(fc.double(), unit, fc.nat(100), (asked, random, failures) => {
        const next = schedule.nextHeartbeatMs(asked, random);
        const retry = schedule.retryHeartbeatMs(failures, undefined, random);
        const first = schedule.firstHeartbeatMs(random);
        return (
          next > 5 * HOUR && next < 13 * HOUR && retry > 5 * HOUR && retry < 7 * HOUR && first > 2 * MINUTE
        );
      }),
    );
  });

  test.each([
    ['no answer', () => Promise.reject(new TypeError('fetch failed'))],
    ['a 500', () => problem(500, 'internal_error', 'retry')],
    ['a 429 of a proxy', () => new Response('slow down', { status: 429 })],
  ])(
    'after %s without a retry-after, the next heartbeat is sent at the usual interval',
    async (_, answer) => {
      const { computer } = await startActivated();
      computer.service.answer['/v1/heartbeat'] = () => answer;
      await computer.advanceTime(3 * DAY);
      expect(computer.service.heartbeats.length).toBeGreaterThan(10);
      expect(Math.min(...gaps(computer.service.heartbeats))).toBeGreaterThan(5 * HOUR);
    },
  );

  test.each([
    ['a number of seconds', '900'],
    ['an HTTP date', 'Fri, 20 Nov 2026 13:15:00 GMT'],
  ])('the client waits for at least the retry-after, given as %s', async (_, value) => {
    const { computer } = await startActivated(0);
    const headers = { 'retry-after': value, date: 'Fri, 20 Nov 2026 13:00:00 GMT' };
    const answers = [() => problem(503, 'unavailable', 'retry', {}, headers)];
    computer.service.answer['/v1/heartbeat'] = () => answers.shift() ?? (() => computer.service.confirm());
    await computer.advanceTime(12 * HOUR);
    const [first, second] = gaps(computer.service.heartbeats);
    expect(first).toBe(15 * MINUTE);
    expect(second).toBeGreaterThan(5 * HOUR);
  });

  test('a server that always asks for an immediate repetition receives under 32 heartbeats a day, a minute apart or more', async () => {
    const { computer } = await startActivated();
    computer.service.answer['/v1/heartbeat'] = () =>
      new Response('', { status: 503, headers: { 'retry-after': '0' } });
    await computer.advanceTime(DAY);
    expect(computer.service.heartbeats.length).toBeLessThan(32);
    expect(Math.min(...gaps(computer.service.heartbeats))).toBeGreaterThanOrEqual(MINUTE);
  });

  test('a retry-after of ten years is limited to six hours', async () => {
    const { computer } = await startActivated();
    computer.service.answer['/v1/heartbeat'] = () =>
      problem(503, 'unavailable', 'retry', {}, { 'retry-after': '315360000' });
    await computer.advanceTime(2 * DAY);
    expect(computer.service.heartbeats.length).toBeGreaterThan(6);
  });

  test('two simultaneous calls of heartbeatNow send one heartbeat', async () => {
    const { computer } = await startActivated();
    await Promise.all([computer.client.heartbeatNow(), computer.client.heartbeatNow()]);
    expect(computer.service.heartbeats).toHaveLength(1);
  });

  test('each heartbeat has the token of the previous confirmation', async () => {
    const { computer } = await startActivated();
    await computer.advanceTime(DAY);
    expect(computer.service.heartbeats.map(({ body }) => body!['token'])).toEqual(
      computer.service.heartbeats.map((_, i) => `token-${i + 1}`),
    );
  });
});

/** Whether a field belongs to a crash signature. The number of crashes does not: it is a field of `telemetry`. */
const isCrashField = (name: string) => name.startsWith('crash_') && name !== 'crash_count_since_last';
const fields = Object.entries(EVERY_FIELD);
/** All fields that the `telemetry` callback of an application can return, which are not those of a crash signature. */
const ALL_FIELDS = Object.fromEntries(fields.filter(([name]) => !isCrashField(name))) as Required<Telemetry>;
const CRASH = Object.fromEntries(fields.filter(([name]) => isCrashField(name))) as Required<CrashSignature>;

const SENT_ON = 'heartbeat sent (telemetry: on)';
const SENT_OFF = 'heartbeat sent (telemetry: off)';
const telemetryBlocks = (computer: Computer) =>
  computer.service.heartbeats.map(({ body }) => body!['telemetry']);

describe('telemetry', () => {
  test('is on by default, with every field that the application returns, and the log reports it', async () => {
    const computer = await Computer.activated({ telemetry: () => ALL_FIELDS });
    await computer.client.heartbeatNow();
    expect(telemetryBlocks(computer)).toEqual([ALL_FIELDS]);
    expect(computer.log.filter((line) => line.startsWith('heartbeat'))).toEqual([SENT_ON]);
  });

  test('with EXAMPLE_TELEMETRY_DISABLED=1 the telemetry block is absent, and the log reports it', async () => {
    const environment = { EXAMPLE_TELEMETRY_DISABLED: '1' };
    const computer = await Computer.activated({ telemetry: () => ALL_FIELDS, environment });
    await computer.client.reportCrash(CRASH);
    await computer.client.heartbeatNow();
    expect(computer.service.heartbeats.map(({ body }) => body)).toEqual([
      { token: 'token-1', app_version: '3.1.0' },
    ]);
    expect(computer.log.filter((line) => line.startsWith('heartbeat'))).toEqual([SENT_OFF]);
  });

  test.each([
    [{}, false],
    [{ MY_APP_TELEMETRY_DISABLED: '0' }, false],
    [{ MY_APP_TELEMETRY_DISABLED: '' }, false],
    [{ OTHER_TELEMETRY_DISABLED: '1' }, false],
    [{ MY_APP_TELEMETRY_DISABLED: ' 1 ' }, true],
    [{ MY_APP_TELEMETRY_DISABLED: 'true' }, true],
  ])('with the environment %j, the telemetry of My App is off: %p', async (environment, isOff) => {
    const computer = await Computer.activated({ app: 'My App', environment });
    await computer.client.heartbeatNow();
    expect(telemetryBlocks(computer)[0] === undefined).toBe(isOff);
  });

  test.each(['My App', 'my-app', 'My – App'])(
    'the variable of the application %p is MY_APP_TELEMETRY_DISABLED',
    (app) => {
      expect(isTelemetryDisabled(app, { MY_APP_TELEMETRY_DISABLED: '1' })).toBe(true);
    },
  );

  test('the opt-out is read at the start, so a change takes effect after a restart', async () => {
    const environment: Record<string, string> = {};
    const computer = await Computer.activated({ environment });
    environment['EXAMPLE_TELEMETRY_DISABLED'] = '1';
    await computer.client.heartbeatNow();
    await computer.restart({ environment });
    await computer.client.heartbeatNow();
    expect(telemetryBlocks(computer).map((block) => block !== undefined)).toEqual([true, false]);
  });

  test('a telemetry callback that throws does not prevent the heartbeat', async () => {
    const computer = await Computer.activated({
      telemetry: () => {
        throw new Error('secret camera name');
      },
    });
    expect((await computer.client.heartbeatNow()).kind).toBe('running');
    expect(telemetryBlocks(computer)).toEqual([{ app_version: '3.1.0' }]);
    expect(computer.log.filter((line) => line.startsWith('telemetry could not be read'))).toHaveLength(1);
    expect(computer.log.join()).not.toContain('camera');
  });

  test('an async telemetry callback, which is a mistake, does not prevent the heartbeat', async () => {
    const telemetry = () => Promise.reject(new Error('secret camera name')) as Telemetry;
    const computer = await Computer.activated({ telemetry });
    expect((await computer.client.heartbeatNow()).kind).toBe('running');
    await new Promise(setImmediate);
    expect(telemetryBlocks(computer)).toEqual([{ app_version: '3.1.0' }]);
    expect(computer.log.filter((line) => line.startsWith('telemetry could not be read'))).toHaveLength(1);
  });

  test('a field that is not on the list, or has another type, never leaves the computer', () => {
    const unfiltered = {
      ...ALL_FIELDS,
      ...CRASH,
      camera_url: 'rtsp://u:p@cam',
      cpu_cores: '8',
      uptime_hours: 1.5,
    };
    const { cpu_cores: _, uptime_hours: __, ...rest } = ALL_FIELDS;
    const noCrash = null;
    const block = telemetryBlock(
      '3.1.0',
      () => unfiltered as unknown as Telemetry,
      noCrash,
      () => {},
    );
    expect(block).toEqual(rest);
  });

  test('the heartbeat is logged as sent only if there was a response', async () => {
    const computer = await Computer.activated();
    computer.service.answer['/v1/heartbeat'] = () => json(500, {});
    await computer.client.heartbeatNow();
    expect(computer.log).toContain(SENT_ON);
    computer.log.length = 0;
    computer.service.disconnect();
    await computer.client.heartbeatNow();
    expect(computer.log).toEqual(['heartbeat not confirmed: no connection']);
  });

  test.each([
    ['license_asleep', 'license_asleep'],
    ['asleep\nanna@example.com', 'a problem whose code has an invalid form'],
    ['asleep\n', 'a problem whose code has an invalid form'],
    ['moor_e6s7z8kjtb3rqkx6', 'a problem whose code has an invalid form'],
    ['a'.repeat(41), 'a problem whose code has an invalid form'],
  ])('the code %j of a refusal is logged as %j', async (code, logged) => {
    const computer = await Computer.activated();
    computer.service.answer['/v1/heartbeat'] = () => problem(403, code, 'retry');
    await computer.client.heartbeatNow();
    expect(computer.log).toEqual([SENT_ON, `heartbeat answered with ${logged}`]);
  });
});

describe('a crash signature', () => {
  test('is sent with the first heartbeat after the crash, and with no other', async () => {
    const computer = await Computer.activated();
    await computer.client.heartbeatNow();
    await computer.client.reportCrash({ ...CRASH, log: 'text' } as CrashSignature);
    await computer.client.heartbeatNow();
    await computer.client.heartbeatNow();
    const withoutCrash = { app_version: '3.1.0' };
    expect(telemetryBlocks(computer)).toEqual([withoutCrash, { ...withoutCrash, ...CRASH }, withoutCrash]);
  });

  test('is kept, also over a restart, until a heartbeat is confirmed', async () => {
    const computer = await Computer.activated();
    await computer.client.reportCrash(CRASH);
    computer.service.answer['/v1/heartbeat'] = () => problem(503, 'unavailable', 'retry');
    await computer.client.heartbeatNow();
    await computer.restart();
    computer.service.answer['/v1/heartbeat'] = () => computer.service.confirm();
    await computer.client.heartbeatNow();
    await computer.client.heartbeatNow();
    expect(telemetryBlocks(computer).map((block) => 'crash_sig' in (block as object))).toEqual([
      true,
      true,
      false,
    ]);
  });

  test('that is reported while an earlier one is being sent is sent with the next heartbeat', async () => {
    const computer = await Computer.activated();
    const newer = { ...CRASH, crash_label: 'reported later' };
    await computer.client.reportCrash(CRASH);
    computer.service.answer['/v1/heartbeat'] = () => async () => {
      await computer.client.reportCrash(newer);
      return computer.service.confirm();
    };
    await computer.client.heartbeatNow();
    computer.service.answer['/v1/heartbeat'] = () => computer.service.confirm();
    await computer.client.heartbeatNow();
    await computer.client.heartbeatNow();
    const withoutCrash = { app_version: '3.1.0' };
    expect(telemetryBlocks(computer)).toEqual([
      { ...withoutCrash, ...CRASH },
      { ...withoutCrash, ...newer },
      withoutCrash,
    ]);
  });

  test('that is not yet sent is deleted by the opt-out', async () => {
    const computer = await Computer.activated();
    await computer.client.reportCrash(CRASH);
    await computer.restart({ environment: { EXAMPLE_TELEMETRY_DISABLED: '1' } });
    await computer.restart();
    await computer.client.heartbeatNow();
    expect(telemetryBlocks(computer)).toEqual([{ app_version: '3.1.0' }]);
  });

  test('reported after an opt-out is not sent when the opt-out ends', async () => {
    const computer = await Computer.activated({ environment: { EXAMPLE_TELEMETRY_DISABLED: '1' } });
    await computer.client.reportCrash(CRASH);
    await computer.restart();
    await computer.client.heartbeatNow();
    expect(telemetryBlocks(computer)).toEqual([{ app_version: '3.1.0' }]);
  });

  test('that was refused as invalid is not sent again', async () => {
    const computer = await Computer.activated();
    await computer.client.reportCrash(CRASH);
    computer.service.answer['/v1/heartbeat'] = ({ body }) =>
      body!['telemetry'] ? problem(422, 'invalid_request', 'fix') : computer.service.confirm();
    expect((await computer.client.heartbeatNow()).kind).toBe('running');
    await computer.client.heartbeatNow();
    expect(telemetryBlocks(computer)).toEqual([
      { app_version: '3.1.0', ...CRASH },
      undefined,
      { app_version: '3.1.0' },
      undefined,
    ]);
  });
});
