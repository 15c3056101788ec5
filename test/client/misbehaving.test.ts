import { afterEach, describe, expect, test } from '@jest/globals';
import { LicenseProblem, ServiceUnreachable, type NoUpdateReason } from '../../client/src/client.js';
import { FIX_PROBLEMS, NO_ANSWERS, RETRY_PROBLEMS, WRONG_SHAPES, type Fault } from './faults.js';
import { DAY, HOUR, MINUTE } from './harness.js';
import type { Stop } from './misbehaving-service.js';
import { SocketComputer } from './socket-computer.js';

const openComputers: SocketComputer[] = [];
afterEach(async () => {
  await Promise.all(openComputers.splice(0).map((computer) => computer.close()));
});

/** Starts and activates the application; the service has no fault yet. */
async function startRunning(): Promise<SocketComputer> {
  const computer = await SocketComputer.create();
  openComputers.push(computer);
  await computer.open();
  await computer.activate();
  return computer;
}

const heartbeats = (computer: SocketComputer) =>
  computer.attempts.filter(({ path }) => path === '/v1/heartbeat');
const activations = (computer: SocketComputer) =>
  computer.attempts.filter(({ path }) => path === '/v1/activate');

/** Waits five hours for the next heartbeat. @returns its delay in seconds; undefined if none was sent */
async function measureRetryDelaySeconds(computer: SocketComputer): Promise<number | undefined> {
  const from = computer.time.monotonic;
  const made = heartbeats(computer).length;
  await computer.advanceTime(5 * HOUR);
  const next = heartbeats(computer)[made];
  return next && Math.round((next.when - from) / 1000);
}

const notAnAnswer = (status: number) => `not an answer of the service, status ${status}`;

/**
 * For each fault: the reason in the client's log, the reason why there is no update, and the shortest delay of the next
 * heartbeat in seconds if it is sent within five hours.
 */
const EXPECTED: Record<keyof typeof NO_ANSWERS, [string, NoUpdateReason, number?]> = {
  'no response': ['timeout', 'unreachable'],
  'a response that never ends': ['timeout', 'unreachable'],
  'a connection that is closed without a response': ['ECONNRESET', 'unreachable'],
  'an incomplete answer': ['cut answer', 'unreachable'],
  'an incomplete stop': ['cut answer', 'unreachable'],
  'a stop shorter than its content-length': ['cut answer', 'unreachable'],
  'bytes that are not HTTP': ['HPE_INVALID_CONSTANT', 'unreachable'],
  'a captive portal’s page': [notAnAnswer(200), 'malformed'],
  'a captive portal’s page that calls itself JSON': [notAnAnswer(200), 'malformed'],
  'a captive portal’s redirect': ['redirect', 'unreachable'],
  'a redirect that says stop': ['redirect', 'unreachable'],
  'a proxy’s 403': [notAnAnswer(403), 'unreachable'],
  'a proxy’s 502': [notAnAnswer(502), 'unreachable'],
  'a 500': [notAnAnswer(500), 'unreachable'],
  'a stop as plain JSON': [notAnAnswer(403), 'unreachable'],
  'a stop with status 200': [notAnAnswer(200), 'malformed'],
  'a stop with status 202': [notAnAnswer(202), 'unreachable'],
  'a stop without a code': [notAnAnswer(403), 'unreachable'],
  'a stop whose code is a number': [notAnAnswer(403), 'unreachable'],
  'a stop in a list': [notAnAnswer(403), 'unreachable'],
  'invalid UTF-8': ['answer not UTF-8', 'unreachable'],
  'an empty answer': [notAnAnswer(200), 'malformed'],
  'an answer that is too large': ['answer too large', 'unreachable'],
  'a stop that is too large': ['answer too large', 'unreachable'],
  'a 503 without a retry-after': [notAnAnswer(503), 'unreachable'],
  'a 503 with a retry-after of two minutes': [notAnAnswer(503), 'unreachable', 120],
  'a 503 with a date as its retry-after': [notAnAnswer(503), 'unreachable', 900],
  'a 503 with a retry-after in the past': [notAnAnswer(503), 'unreachable', 60],
  'a 503 with a retry-after of zero': [notAnAnswer(503), 'unreachable', 60],
  'a 503 with a retry-after of ten years': [notAnAnswer(503), 'unreachable'],
  'a 503 with a negative retry-after': [notAnAnswer(503), 'unreachable'],
  'a 429 with a retry-after that is not a time': [notAnAnswer(429), 'unreachable'],
  'a 429 with a retry-after of 90 seconds': [notAnAnswer(429), 'unreachable', 90],
};

describe('no answer', () => {
  test.each(Object.entries(EXPECTED))(
    '%s: the application continues to run',
    async (name, [reason, , seconds]) => {
      const computer = await startRunning();
      computer.remote.misbehave(NO_ANSWERS[name as keyof typeof NO_ANSWERS]);
      expect((await computer.retry()).kind).toBe('running');
      expect(computer.log).toContain(`heartbeat not confirmed: ${reason}`);
      const next = await measureRetryDelaySeconds(computer);
      if (seconds === undefined) expect(next).toBeUndefined();
      // The client adds up to 10 % at random; `random` returns 0.5.
      else expect(next).toBe(Math.round(seconds * 1.05));
      expect(activations(computer)).toHaveLength(1);
      expect(computer.states.map(({ kind }) => kind)).toEqual(['not_activated', 'running']);
    },
  );

  test.each(Object.entries(EXPECTED))(
    '%s: Activate fails with the reason, and the status does not change',
    async (name, [reason]) => {
      const computer = await startRunning();
      const before = computer.client.status;
      computer.remote.misbehave(NO_ANSWERS[name as keyof typeof NO_ANSWERS]);
      const error = await computer.activate('MOOR_0000-0000-0000-0000').catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(ServiceUnreachable);
      expect((error as ServiceUnreachable).reason).toBe(reason);
      expect(computer.client.status).toBe(before);
    },
  );

  test.each(Object.entries(EXPECTED))(
    '%s: a restart after 8 days needs the network, and a retry runs once the service answers',
    async (name, [reason]) => {
      const computer = await startRunning();
      computer.remote.misbehave(NO_ANSWERS[name as keyof typeof NO_ANSWERS]);
      expect(await computer.restartAfter(8 * DAY)).toMatchObject({ kind: 'needs_network', reason });
      await computer.remote.behave();
      expect((await computer.retry()).kind).toBe('running');
      expect(activations(computer)).toHaveLength(1);
    },
  );

  test.each(Object.entries(EXPECTED))(
    '%s: no update is available, and the log contains the reason',
    async (name, [, reason]) => {
      const computer = await startRunning();
      computer.remote.publish({ version: '3.2.0' });
      computer.remote.misbehave(NO_ANSWERS[name as keyof typeof NO_ANSWERS]);
      expect(await computer.finish(computer.client.checkForUpdate())).toEqual({ available: false, reason });
      expect(computer.log).toContain(`no update available: ${reason}`);
      await computer.remote.behave();
      expect(await computer.client.checkForUpdate()).toMatchObject({ available: true });
    },
  );
});

describe('JSON that is not a confirmation', () => {
  test.each(Object.entries<Fault>(WRONG_SHAPES))('%s confirms nothing', async (_, fault) => {
    const computer = await startRunning();
    computer.remote.misbehave(fault);
    expect((await computer.retry()).kind).toBe('running');
    await expect(computer.activate()).rejects.toThrow(notAnAnswer(200));
    expect(await computer.restartAfter(8 * DAY)).toMatchObject({
      kind: 'needs_network',
      reason: notAnAnswer(200),
    });
    await computer.remote.behave();
    expect((await computer.retry()).kind).toBe('running');
  });
});

describe('a problem that asks the client to retry', () => {
  test.each(Object.entries<Fault>(RETRY_PROBLEMS))(
    '%s is a retry, and its code is reported',
    async (_, fault) => {
      const computer = await startRunning();
      computer.remote.misbehave(fault);
      expect((await computer.retry()).kind).toBe('running');
      expect(await measureRetryDelaySeconds(computer)).toBeUndefined();
      const error = await computer.activate().catch((caught: unknown) => caught);
      expect(error).toMatchObject({ client_action: 'retry' });
      const { code } = error as LicenseProblem;
      expect(computer.log).toContain(`heartbeat answered with ${code}`);
      expect(await computer.restartAfter(8 * DAY)).toMatchObject({ kind: 'needs_network', reason: code });
      await computer.remote.behave();
      expect((await computer.retry()).kind).toBe('running');
    },
  );
});

describe('a problem that reports an invalid request', () => {
  test.each(Object.entries<Fault>(FIX_PROBLEMS))(
    'after %s the heartbeat is repeated once, without telemetry',
    async (code, fault) => {
      const computer = await startRunning();
      computer.remote.misbehave(fault);
      expect((await computer.retry()).kind).toBe('running');
      expect(heartbeats(computer).map(({ received }) => 'telemetry' in received!.body!)).toEqual([
        true,
        false,
      ]);
      expect(await measureRetryDelaySeconds(computer)).toBeUndefined();
      await expect(computer.activate()).rejects.toMatchObject({ code, client_action: 'fix' });
      expect(await computer.restartAfter(8 * DAY)).toMatchObject({ kind: 'needs_network', reason: code });
    },
  );
});

describe('a closed port', () => {
  test('does not stop the application, and a late restart runs within a minute after the port is open', async () => {
    const computer = await startRunning();
    await computer.remote.refuse();
    expect((await computer.retry()).kind).toBe('running');
    await expect(computer.activate()).rejects.toThrow('ECONNREFUSED');
    expect(await computer.client.checkForUpdate()).toEqual({ available: false, reason: 'unreachable' });
    expect(await computer.restartAfter(8 * DAY)).toMatchObject({
      kind: 'needs_network',
      reason: 'ECONNREFUSED',
    });
    await computer.remote.behave();
    await computer.advanceTime(MINUTE);
    expect(computer.client.status.kind).toBe('running');
  });
});

describe('a token that the service no longer knows', () => {
  test('is replaced by activating the same machine again in the background', async () => {
    const computer = await startRunning();
    computer.remote.forgetTokens();
    await computer.advanceTime(12 * HOUR);
    expect(computer.client.status.kind).toBe('running');
    const [clicked, background] = activations(computer);
    expect(activations(computer)).toHaveLength(2);
    expect(background!.received!.raw).toBe(clicked!.received!.raw);
    expect([background!.isUserInitiated, computer.remote.activations]).toEqual([false, 1]);
    expect(heartbeats(computer).map(({ received }) => received!.isConfirmed)).toEqual([undefined, true]);
  });

  test.each([
    ['machine_limit_reached', 409],
    ['license_not_found', 404],
  ])(
    'whose activation is answered with %s stops nothing while the old token is valid',
    async (code, status) => {
      const computer = await startRunning();
      computer.remote.forgetTokens();
      computer.remote.misbehave((exchange) => exchange.problem(status, code, 'stop'), ['/v1/activate']);
      await computer.advanceTime(6 * DAY);
      expect(computer.client.status.kind).toBe('running');
      await computer.remote.behave();
      await computer.advanceTime(7 * HOUR);
      expect(heartbeats(computer).at(-1)!.received!.action).toBe('reactivate');
      expect(activations(computer).at(-1)!.received!.isConfirmed).toBe(true);
      expect(new Set(computer.states.slice(1).map(({ kind }) => kind))).toEqual(new Set(['running']));
    },
  );
});

describe('a server whose clock is wrong', () => {
  test.each([-365 * DAY, 365 * DAY])(
    'by %p ms stops no client, also not when it is corrected',
    async (error) => {
      const computer = await startRunning();
      computer.remote.clockErrorMs = error;
      expect((await computer.retry()).kind).toBe('running');
      computer.remote.misbehave(NO_ANSWERS['a captive portal’s page']);
      expect((await computer.restartAfter(6 * DAY)).kind).toBe('running');
      await computer.remote.behave();
      expect((await computer.retry()).kind).toBe('running');
      computer.remote.misbehave(NO_ANSWERS['a captive portal’s page']);
      expect((await computer.restartAfter(6 * DAY)).kind).toBe('running');
      expect((await computer.restartAfter(2 * DAY)).kind).toBe('needs_network');
    },
  );
});

test('a stop in the answer to a heartbeat stops the application, and a refusal of Activate does not', async () => {
  const computer = await startRunning();
  const stop: Stop = { code: 'license_refunded', detail: 'The purchase of this license was refunded.' };
  computer.remote.stop = stop;
  const stopped = { kind: 'stopped', reason: stop.code, detail: stop.detail, extras: {} };
  await expect(computer.activate()).rejects.toBeInstanceOf(LicenseProblem);
  expect(computer.client.status.kind).toBe('running');
  expect(await computer.retry()).toEqual(stopped);
  expect(computer.states.at(-1)).toEqual(stopped);
});
