import { describe, expect, test } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { LicenseProblem, ServiceUnreachable } from '../../client/src/client.js';
import { Computer, EMAIL, HOUR, KEY, MACHINE_ID, MINUTE, problem } from './harness.js';

describe('activate', () => {
  test('sends exactly the members of the contract, and stores the answer', async () => {
    const computer = await Computer.activated();
    expect(computer.service.callsTo('/v1/activate').map(({ body }) => body)).toEqual([
      {
        license_key: KEY,
        email: EMAIL,
        machine_id: MACHINE_ID,
        hostname_hint: 'Studio Mac',
        app_version: '3.1.0',
      },
    ]);
    expect(computer.client.status).toEqual({
      kind: 'running',
      offline_until: '2026-11-27T13:00:00.000Z',
      license_expires_at: null,
    });
    expect(JSON.parse(await readFile(computer.stateFile, 'utf8'))).toMatchObject({
      license: { token: 'token-1' },
    });
    expect((await computer.restart()).kind).toBe('running');
  });

  test.each(['“moor-e6s7 Z8KJ–TB3R QKX6.”', 'MOOR_E6S7Z8KJTB3RQKX6'])(
    'sends and stores the canonical text of the typed key %s',
    async (typed) => {
      const computer = await Computer.opened();
      await computer.client.activate(typed, EMAIL);
      expect(computer.service.calls[0]!.body).toMatchObject({ license_key: KEY });
      expect(JSON.parse(await readFile(computer.stateFile, 'utf8'))).toMatchObject({
        license: { license_key: KEY },
      });
    },
  );

  test('refuses a text that is no license key, as the service does but without a request', async () => {
    const computer = await Computer.opened();
    const refusal = await computer.client.activate(`${KEY}7`, EMAIL).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(LicenseProblem);
    expect(refusal).toMatchObject({
      code: 'invalid_request',
      client_action: 'fix',
      errors: [{ pointer: '/license_key', detail: 'must have the shape PREFIX_XXXX-XXXX-XXXX-XXXX' }],
    });
    expect(computer.service.calls).toEqual([]);
    expect(computer.client.status).toEqual({ kind: 'not_activated' });
  });

  test.each([undefined, '', '  '])('sends no hostname_hint for the label %p', async (hint) => {
    const computer = await Computer.opened();
    await computer.client.activate(KEY, EMAIL, hint);
    expect(computer.service.calls[0]!.body).not.toHaveProperty('hostname_hint');
  });

  test('sends no license call before a click: not at a start, in the first day or at a restart', async () => {
    const computer = await Computer.make();
    expect(await computer.open()).toEqual({ kind: 'not_activated' });
    await computer.advanceTime(24 * HOUR);
    await computer.restart();
    expect(computer.service.callsTo('/v1/activate')).toEqual([]);
    expect(computer.service.heartbeats).toEqual([]);
  });

  test('throws the refusal, and stays not activated', async () => {
    const computer = await Computer.opened();
    computer.service.answer['/v1/activate'] = () =>
      problem(409, 'machine_limit_reached', 'stop', { machines_allowed: 1, portal_url: 'https://x/portal/' });
    const refusal = await computer.client.activate(KEY, EMAIL).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(LicenseProblem);
    expect(refusal).toMatchObject({
      code: 'machine_limit_reached',
      extras: { portal_url: 'https://x/portal/' },
    });
    expect(computer.client.status).toEqual({ kind: 'not_activated' });
  });

  describe('that the machine limit refuses', () => {
    const OTHER_KEY = 'MOOR_0000-0000-0000-0000';
    const THIRD_KEY = 'MOOR_1111-1111-1111-1111';
    const limitReached = () =>
      problem(409, 'machine_limit_reached', 'stop', { portal_url: 'https://x/portal/#release=hint' });
    async function refused(): Promise<Computer> {
      const computer = await Computer.opened();
      computer.service.answer['/v1/activate'] = limitReached;
      await expect(computer.client.activate(KEY, EMAIL, 'Studio')).rejects.toThrow(LicenseProblem);
      return computer;
    }
    const activations = ({ service }: Computer) => service.callsTo('/v1/activate');

    test('is repeated every 5 seconds, a minute after `retry`, and succeeds when the machine limit allows it', async () => {
      const computer = await refused();
      await computer.advanceTime(14_000);
      expect(activations(computer)).toHaveLength(3);
      computer.service.answer['/v1/activate'] = () => () => Promise.reject(new TypeError('fetch failed'));
      await computer.advanceTime(5_000);
      computer.service.answer['/v1/activate'] = () => problem(503, 'unavailable', 'retry');
      await computer.advanceTime(5_000);
      computer.service.answer['/v1/activate'] = () => computer.service.confirm(201);
      await computer.advanceTime(MINUTE);
      expect(computer.client.status.kind).toBe('running');
      const bodies = activations(computer).map(({ body }) => body);
      expect(bodies).toEqual(Array(6).fill(bodies[0]));
      await computer.advanceTime(10 * MINUTE);
      expect(activations(computer)).toHaveLength(6);
    });

    test.each([
      [
        '`retry`',
        (headers: Record<string, string>) => problem(503, 'unavailable', 'retry', {}, headers),
        120,
      ],
      [
        'a 503 of a proxy',
        (headers: Record<string, string>) => new Response('', { status: 503, headers }),
        120,
      ],
      [
        '`retry` with a shorter time',
        () => problem(503, 'unavailable', 'retry', {}, { 'retry-after': '1' }),
        60,
      ],
      ['`reactivate`', () => problem(403, 'token_invalid', 'reactivate'), 60],
    ])(
      'is repeated after %s once its retry-after, and at least a minute, has passed',
      async (_name, answer, seconds) => {
        const computer = await refused();
        computer.service.answer['/v1/activate'] = () => answer({ 'retry-after': '120' });
        await computer.advanceTime(5_000 + seconds * 1_000 - 1);
        expect(activations(computer)).toHaveLength(2);
        await computer.advanceTime(1);
        expect(activations(computer)).toHaveLength(3);
      },
    );

    test('ends after a retry-after that is longer than a timer can wait, and is not sent at once', async () => {
      const computer = await refused();
      const headers = { 'retry-after': '999999999999' };
      computer.service.answer['/v1/activate'] = () => problem(503, 'unavailable', 'retry', {}, headers);
      await computer.advanceTime(HOUR);
      expect(activations(computer)).toHaveLength(2);
    });

    test('is no longer repeated after ten minutes', async () => {
      const computer = await refused();
      await computer.advanceTime(HOUR);
      expect(activations(computer)).toHaveLength(1 + (10 * MINUTE) / 5_000);
      expect(computer.client.status).toEqual({ kind: 'not_activated' });
    });

    test('is no longer repeated when the computer wakes up after ten minutes, or after a cancellation', async () => {
      const slept = await refused();
      slept.time.wall += 10 * MINUTE;
      await slept.advanceTime(MINUTE);
      expect(activations(slept)).toHaveLength(1);

      const cancelled = await refused();
      await cancelled.advanceTime(5_000);
      cancelled.client.waitingActivation.cancel();
      await cancelled.advanceTime(MINUTE);
      expect(activations(cancelled)).toHaveLength(2);
    });

    test.each([
      ['the user closes the window', ({ client }: Computer) => client.waitingActivation.cancel(), []],
      ['the user clicks again', ({ client }: Computer) => client.activate(THIRD_KEY, EMAIL), [THIRD_KEY]],
    ])('is not repeated after %s, also if the repetition waits for a heartbeat', async (_name, act, keys) => {
      const computer = await Computer.activated();
      computer.service.answer['/v1/activate'] = limitReached;
      await expect(computer.client.activate(OTHER_KEY, EMAIL)).rejects.toThrow(LicenseProblem);
      const heartbeatSent = Promise.withResolvers<void>();
      const answer = Promise.withResolvers<Response>();
      computer.service.answer['/v1/heartbeat'] = () => () => {
        heartbeatSent.resolve();
        return answer.promise;
      };
      const retry = computer.client.heartbeatNow();
      await heartbeatSent.promise;
      computer.service.answer['/v1/activate'] = () => computer.service.confirm(201);
      // `advanceTime` would wait until the client is idle, but it waits for the answer to the heartbeat.
      await computer.time.advance(5_000, () => Promise.resolve());
      const done = act(computer);
      answer.resolve(computer.service.confirm());
      await Promise.all([retry, done]);
      await computer.client.idle();
      expect(activations(computer).slice(2)).toEqual(
        keys.map((license_key) =>
          expect.objectContaining({ body: expect.objectContaining({ license_key }) }),
        ),
      );
    });

    test('is no longer repeated after another answer, a restart or a click with another license key', async () => {
      const computer = await refused();
      computer.service.answer['/v1/activate'] = () => problem(403, 'license_revoked', 'stop');
      await computer.advanceTime(MINUTE);
      expect(activations(computer)).toHaveLength(2);

      const restarted = await refused();
      await restarted.restart();
      await restarted.advanceTime(MINUTE);
      expect(activations(restarted)).toHaveLength(1);

      const other = await refused();
      other.service.answer['/v1/activate'] = () => problem(404, 'license_not_found', 'stop');
      await expect(other.client.activate(OTHER_KEY, EMAIL)).rejects.toThrow(LicenseProblem);
      await other.advanceTime(MINUTE);
      expect(activations(other)).toHaveLength(2);
    });
  });

  test('without a network throws ServiceUnreachable', async () => {
    const computer = await Computer.opened();
    computer.service.disconnect();
    await expect(computer.client.activate(KEY, EMAIL)).rejects.toBeInstanceOf(ServiceUnreachable);
  });

  test('with a mistyped key does not stop an application that runs', async () => {
    const computer = await Computer.activated();
    computer.service.answer['/v1/activate'] = () => problem(404, 'license_not_found', 'stop');
    await expect(computer.client.activate('MOOR_0000-0000-0000-0000', EMAIL)).rejects.toThrow(
      'license_not_found',
    );
    expect(computer.client.status.kind).toBe('running');
    expect((await computer.restart()).kind).toBe('running');
  });

  test('sends the requests of simultaneous clicks one after the other', async () => {
    const computer = await Computer.opened();
    let inFlight = 0;
    let maximum = 0;
    computer.service.answer['/v1/activate'] = () => async () => {
      maximum = Math.max(maximum, ++inFlight);
      await new Promise((resolve) => setImmediate(resolve));
      inFlight--;
      return computer.service.confirm(200);
    };
    await Promise.all([
      computer.client.activate(KEY, EMAIL),
      computer.client.activate(KEY, EMAIL),
      computer.client.heartbeatNow(),
    ]);
    expect(maximum).toBe(1);
    expect(computer.service.heartbeats.at(-1)?.body?.['token']).toBe('token-2');
  });
});

/** Sends one heartbeat now. The service gives these answers one after the other, and then confirmations. */
async function sendHeartbeat(computer: Computer, ...answers: (() => Response)[]) {
  computer.service.answer['/v1/heartbeat'] = () => answers.shift() ?? (() => computer.service.confirm());
  return computer.client.heartbeatNow();
}

const invalidRequest = () => problem(422, 'invalid_request', 'fix');
const notCovered = () => problem(403, 'version_not_covered', 'stop', { newest_covered_version: '2.9.4' });

async function computerStoppedBy(code = 'license_suspended'): Promise<Computer> {
  const computer = await Computer.activated();
  computer.service.answer['/v1/heartbeat'] = () => problem(403, code, 'stop');
  await computer.client.heartbeatNow();
  return computer;
}

describe('client_action', () => {
  test('retry keeps the application running', async () => {
    const computer = await Computer.activated();
    expect((await sendHeartbeat(computer, () => problem(503, 'unavailable', 'retry'))).kind).toBe('running');
  });

  test('an unknown or missing client_action is a retry', async () => {
    const computer = await Computer.activated();
    expect((await sendHeartbeat(computer, () => problem(403, 'new_thing', 'self_destruct'))).kind).toBe(
      'running',
    );
    expect(
      (await sendHeartbeat(computer, () => problem(403, 'new_thing', undefined as unknown as string))).kind,
    ).toBe('running');
  });

  test('fix keeps the application running, and the heartbeat is repeated once without telemetry', async () => {
    const computer = await Computer.activated({ telemetry: () => ({ cpu_cores: 8 }) });
    expect((await sendHeartbeat(computer, invalidRequest, invalidRequest)).kind).toBe('running');
    expect(computer.service.heartbeats.map(({ body }) => body)).toEqual([
      { token: 'token-1', app_version: '3.1.0', telemetry: { app_version: '3.1.0', cpu_cores: 8 } },
      { token: 'token-1', app_version: '3.1.0' },
    ]);
  });

  test('fix is not repeated if the heartbeat had no telemetry', async () => {
    const computer = await Computer.activated({ environment: { EXAMPLE_TELEMETRY_DISABLED: '1' } });
    await sendHeartbeat(computer, () => problem(422, 'invalid_request', 'fix'));
    expect(computer.service.heartbeats).toHaveLength(1);
  });

  test('reactivate activates with the stored key, e-mail and label, and keeps the application running', async () => {
    const computer = await Computer.activated();
    expect((await sendHeartbeat(computer, () => problem(403, 'token_invalid', 'reactivate'))).kind).toBe(
      'running',
    );
    const [first, second] = computer.service.callsTo('/v1/activate');
    expect(second!.body).toEqual(first!.body);
    await computer.client.heartbeatNow();
    expect(computer.service.heartbeats.at(-1)!.body!['token']).toBe('token-2');
  });

  test.each(['license_not_found', 'machine_limit_reached'])(
    'a reactivate whose activation is refused with %s stops the application only after the old token has expired',
    async (code) => {
      const computer = await Computer.activated();
      computer.service.answer['/v1/heartbeat'] = () => problem(403, 'token_invalid', 'reactivate');
      computer.service.answer['/v1/activate'] = () => problem(409, code, 'stop');
      await computer.advanceTime(6.5 * 24 * HOUR);
      const offline_until = '2026-11-27T13:00:00.000Z';
      const limit = code === 'machine_limit_reached' && { machine_limit_reached: {} };
      expect(computer.client.status).toEqual({
        kind: 'running',
        offline_until,
        license_expires_at: null,
        ...limit,
      });
      expect((await computer.restart()).kind).toBe('running');
      await computer.advanceTime(24 * HOUR);
      expect(computer.client.status).toMatchObject({
        kind: 'stopped',
        reason: code,
        detail: `detail of ${code}`,
      });
    },
  );

  test('reactivate that leads to machine_limit_reached with the action retry does not report the limit', async () => {
    const computer = await Computer.activated();
    computer.service.answer['/v1/heartbeat'] = () => problem(403, 'token_invalid', 'reactivate');
    computer.service.answer['/v1/activate'] = () => problem(409, 'machine_limit_reached', 'retry');
    const status = await computer.client.heartbeatNow();
    expect(status.kind).toBe('running');
    expect(status).not.toHaveProperty('machine_limit_reached');
  });

  test('license_not_found as the answer to a heartbeat stops the application', async () => {
    const computer = await Computer.activated();
    const status = await sendHeartbeat(computer, () => problem(404, 'license_not_found', 'stop'));
    expect(status).toMatchObject({ kind: 'stopped', reason: 'license_not_found' });
  });

  test('reactivate that leads to another stop stops the application', async () => {
    const computer = await Computer.activated();
    computer.service.answer['/v1/activate'] = () => problem(403, 'license_revoked', 'stop');
    const status = await sendHeartbeat(computer, () => problem(403, 'token_invalid', 'reactivate'));
    expect(status).toMatchObject({ kind: 'stopped', reason: 'license_revoked' });
  });

  test('reactivate without a machine id to read, or without a network, keeps the application running', async () => {
    let isUnreadable = false;
    const machineId = async () => (isUnreadable ? Promise.reject(new Error('no ioreg')) : 'ab'.repeat(32));
    const computer = await Computer.activated({ machineId });
    isUnreadable = true;
    expect((await sendHeartbeat(computer, () => problem(403, 'token_invalid', 'reactivate'))).kind).toBe(
      'running',
    );
    isUnreadable = false;
    computer.service.answer['/v1/activate'] = () => () => Promise.reject(new TypeError('fetch failed'));
    expect((await sendHeartbeat(computer, () => problem(403, 'token_invalid', 'reactivate'))).kind).toBe(
      'running',
    );
  });

  test('stop stops the application with its detail and members, is reported to it, and is remembered offline', async () => {
    const computer = await Computer.activated();
    const stopped = {
      kind: 'stopped',
      reason: 'version_not_covered',
      detail: 'detail of version_not_covered',
      extras: { newest_covered_version: '2.9.4' },
    };
    expect(await sendHeartbeat(computer, notCovered)).toEqual(stopped);
    expect(computer.states.at(-1)).toEqual(stopped);
    computer.service.disconnect();
    expect(await computer.restart()).toEqual(stopped);
  });
});

describe('after a stop', () => {
  test('no license call is sent until the application requests one', async () => {
    const computer = await computerStoppedBy();
    await computer.advanceTime(48 * HOUR);
    expect(computer.service.heartbeats).toHaveLength(1);
    expect(computer.service.callsTo('/v1/activate')).toHaveLength(1);
  });

  test('a confirmed retry by the user ends the stop, and heartbeats continue', async () => {
    const computer = await computerStoppedBy();
    computer.service.answer['/v1/heartbeat'] = () => computer.service.confirm();
    expect((await computer.client.heartbeatNow()).kind).toBe('running');
    await computer.advanceTime(7 * HOUR);
    expect(computer.service.heartbeats).toHaveLength(3);
  });

  test('a restart sends a heartbeat, whose confirmation ends the stop', async () => {
    const computer = await computerStoppedBy();
    computer.service.answer['/v1/heartbeat'] = () => computer.service.confirm();
    expect((await computer.restart()).kind).toBe('running');
    expect(computer.states.filter(({ kind }) => kind === 'needs_network')).toEqual([]);
    computer.service.disconnect();
    expect((await computer.restart()).kind).toBe('running');
  });

  test('the action reactivate is not obeyed in the background, so a released machine does not activate itself again', async () => {
    const computer = await computerStoppedBy('binding_released');
    computer.service.answer['/v1/heartbeat'] = () => problem(403, 'token_invalid', 'reactivate');
    expect((await computer.restart()).kind).toBe('stopped');
    expect(computer.service.callsTo('/v1/activate')).toHaveLength(1);
  });

  test.each([
    ['license_not_found', 'Retry', (computer: Computer) => computer.client.heartbeatNow()],
    ['license_not_found', 'a restart', (computer: Computer) => computer.restart()],
    ['machine_limit_reached', 'Retry', (computer: Computer) => computer.client.heartbeatNow()],
    ['machine_limit_reached', 'a restart', (computer: Computer) => computer.restart()],
  ])(
    'because an activation was refused with %s, %s obeys the action reactivate: no heartbeat could end this stop',
    async (code, _how, tryAgain) => {
      const computer = await Computer.activated();
      computer.service.answer['/v1/heartbeat'] = () => problem(403, 'token_invalid', 'reactivate');
      computer.service.answer['/v1/activate'] = () => problem(409, code, 'stop');
      await computer.advanceTime(7.5 * 24 * HOUR);
      expect(await tryAgain(computer)).toMatchObject({ kind: 'stopped', reason: code });
      computer.service.answer['/v1/activate'] = () => problem(503, 'unavailable', 'retry');
      expect(await tryAgain(computer)).toMatchObject({ kind: 'stopped', reason: code });
      computer.service.answer['/v1/activate'] = () => computer.service.confirm();
      expect((await tryAgain(computer)).kind).toBe('running');
    },
  );

  test('the user may activate again', async () => {
    const computer = await computerStoppedBy('binding_released');
    expect((await computer.client.activate(KEY, EMAIL)).kind).toBe('running');
    computer.service.disconnect();
    expect((await computer.restart()).kind).toBe('running');
  });
});

test('a callback of the application that throws has no effect on the client', async () => {
  const computer = await Computer.make();
  await computer.open({
    onStateChange: () => {
      throw new Error('ui');
    },
  });
  expect((await computer.client.activate(KEY, EMAIL)).kind).toBe('running');
  await computer.advanceTime(10 * MINUTE);
});

test('after close nothing is sent any more', async () => {
  const computer = await Computer.activated();
  await computer.client.close();
  await computer.client.heartbeatNow();
  await expect(computer.client.activate(KEY, EMAIL)).rejects.toThrow('closed');
  expect(computer.time.pending.size).toBe(0);
  expect(computer.service.calls).toHaveLength(1);
});
