import { describe, expect, test } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { LicenseProblem, ServiceUnreachable } from '../../client/src/client.js';
import { Desk, EMAIL, HOUR, KEY, MACHINE_ID, MINUTE, problem } from './harness.js';

describe('activate', () => {
  test('sends exactly the members of the contract, and remembers the answer', async () => {
    const desk = await Desk.activated();
    expect(desk.service.of('/v1/activate').map(({ body }) => body)).toEqual([
      {
        license_key: KEY,
        email: EMAIL,
        machine_id: MACHINE_ID,
        hostname_hint: 'Studio Mac',
        app_version: '3.1.0',
      },
    ]);
    expect(desk.client.status).toEqual({
      kind: 'running',
      offline_until: '2026-11-27T13:00:00.000Z',
      license_expires_at: null,
    });
    expect(JSON.parse(await readFile(desk.stateFile, 'utf8'))).toMatchObject({
      license: { token: 'token-1' },
    });
    expect((await desk.restart()).kind).toBe('running');
  });

  test.each([undefined, '', '  '])('leaves a label of %p out', async (hint) => {
    const desk = await Desk.make();
    await desk.open();
    await desk.client.activate(KEY, EMAIL, hint);
    expect(desk.service.calls[0]!.body).not.toHaveProperty('hostname_hint');
  });

  test('is only ever called by the user: a start, a day and a restart make none', async () => {
    const desk = await Desk.make();
    expect(await desk.open()).toEqual({ kind: 'not_activated' });
    await desk.pass(24 * HOUR);
    await desk.restart();
    expect(desk.service.of('/v1/activate')).toEqual([]);
    expect(desk.service.heartbeats).toEqual([]);
  });

  test('throws the refusal, and stays not activated', async () => {
    const desk = await Desk.make();
    await desk.open();
    desk.service.answer['/v1/activate'] = () =>
      problem(409, 'machine_limit_reached', 'stop', { machines_allowed: 1, portal_url: 'https://x/portal/' });
    const refusal = await desk.client.activate(KEY, EMAIL).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(LicenseProblem);
    expect(refusal).toMatchObject({
      code: 'machine_limit_reached',
      extras: { portal_url: 'https://x/portal/' },
    });
    expect(desk.client.status).toEqual({ kind: 'not_activated' });
  });

  test('without a network throws ServiceUnreachable', async () => {
    const desk = await Desk.make();
    await desk.open();
    desk.service.unplug();
    await expect(desk.client.activate(KEY, EMAIL)).rejects.toBeInstanceOf(ServiceUnreachable);
  });

  test('with a mistyped key takes nothing from an application that runs', async () => {
    const desk = await Desk.activated();
    desk.service.answer['/v1/activate'] = () => problem(404, 'license_not_found', 'stop');
    await expect(desk.client.activate('MOOR_0000-0000-0000-0000', EMAIL)).rejects.toThrow(
      'license_not_found',
    );
    expect(desk.client.status.kind).toBe('running');
    expect((await desk.restart()).kind).toBe('running');
  });

  test('clicked twice makes one call after the other', async () => {
    const desk = await Desk.make();
    await desk.open();
    let under_way = 0;
    let most = 0;
    desk.service.answer['/v1/activate'] = () => async () => {
      most = Math.max(most, ++under_way);
      await new Promise((resolve) => setImmediate(resolve));
      under_way--;
      return desk.service.confirm(200);
    };
    await Promise.all([
      desk.client.activate(KEY, EMAIL),
      desk.client.activate(KEY, EMAIL),
      desk.client.heartbeatNow(),
    ]);
    expect(most).toBe(1);
    expect(desk.service.heartbeats.at(-1)?.body?.['token']).toBe('token-2');
  });
});

/** One heartbeat now, answered with these in turn, and with confirmations after them. */
async function answered(desk: Desk, ...answers: (() => Response)[]) {
  desk.service.answer['/v1/heartbeat'] = () => answers.shift() ?? (() => desk.service.confirm());
  return desk.client.heartbeatNow();
}

const refused = () => problem(422, 'invalid_request', 'fix');
const notCovered = () => problem(403, 'version_not_covered', 'stop', { newest_covered_version: '2.9.4' });

async function stoppedBy(code = 'license_suspended'): Promise<Desk> {
  const desk = await Desk.activated();
  desk.service.answer['/v1/heartbeat'] = () => problem(403, code, 'stop');
  await desk.client.heartbeatNow();
  return desk;
}

describe('client_action', () => {
  test('retry keeps running', async () => {
    const desk = await Desk.activated();
    expect((await answered(desk, () => problem(503, 'unavailable', 'retry'))).kind).toBe('running');
  });

  test('one that nobody knows yet is a retry, whatever the status', async () => {
    const desk = await Desk.activated();
    expect((await answered(desk, () => problem(403, 'new_thing', 'self_destruct'))).kind).toBe('running');
    expect((await answered(desk, () => problem(403, 'new_thing', undefined as unknown as string))).kind).toBe(
      'running',
    );
  });

  test('fix keeps running, and the heartbeat is repeated once without telemetry', async () => {
    const desk = await Desk.activated({ telemetry: () => ({ cpu_cores: 8 }) });
    expect((await answered(desk, refused, refused)).kind).toBe('running');
    expect(desk.service.heartbeats.map(({ body }) => body)).toEqual([
      { token: 'token-1', app_version: '3.1.0', telemetry: { app_version: '3.1.0', cpu_cores: 8 } },
      { token: 'token-1', app_version: '3.1.0' },
    ]);
  });

  test('fix is not repeated where there was no telemetry to leave out', async () => {
    const desk = await Desk.activated({ environment: { EXAMPLE_TELEMETRY_DISABLED: '1' } });
    await answered(desk, () => problem(422, 'invalid_request', 'fix'));
    expect(desk.service.heartbeats).toHaveLength(1);
  });

  test('reactivate activates with the stored key, e-mail and label, and keeps running', async () => {
    const desk = await Desk.activated();
    expect((await answered(desk, () => problem(403, 'token_invalid', 'reactivate'))).kind).toBe('running');
    const [first, second] = desk.service.of('/v1/activate');
    expect(second!.body).toEqual(first!.body);
    await desk.client.heartbeatNow();
    expect(desk.service.heartbeats.at(-1)!.body!['token']).toBe('token-2');
  });

  test.each(['license_not_found', 'machine_limit_reached'])(
    'reactivate answered by %s stops nothing before the old token’s time is over, and stops after it',
    async (code) => {
      const desk = await Desk.activated();
      desk.service.answer['/v1/heartbeat'] = () => problem(403, 'token_invalid', 'reactivate');
      desk.service.answer['/v1/activate'] = () => problem(409, code, 'stop');
      await desk.pass(6.5 * 24 * HOUR);
      const offline_until = '2026-11-27T13:00:00.000Z';
      const limit = code === 'machine_limit_reached' && { machine_limit_reached: {} };
      expect(desk.client.status).toEqual({
        kind: 'running',
        offline_until,
        license_expires_at: null,
        ...limit,
      });
      expect((await desk.restart()).kind).toBe('running');
      await desk.pass(24 * HOUR);
      expect(desk.client.status).toMatchObject({
        kind: 'stopped',
        reason: code,
        detail: `detail of ${code}`,
      });
    },
  );

  test('reactivate answered by machine_limit_reached with a retry is no refusal yet', async () => {
    const desk = await Desk.activated();
    desk.service.answer['/v1/heartbeat'] = () => problem(403, 'token_invalid', 'reactivate');
    desk.service.answer['/v1/activate'] = () => problem(409, 'machine_limit_reached', 'retry');
    const status = await desk.client.heartbeatNow();
    expect(status.kind).toBe('running');
    expect(status).not.toHaveProperty('machine_limit_reached');
  });

  test('the same code answered to the heartbeat itself is a stop like any other', async () => {
    const desk = await Desk.activated();
    const status = await answered(desk, () => problem(404, 'license_not_found', 'stop'));
    expect(status).toMatchObject({ kind: 'stopped', reason: 'license_not_found' });
  });

  test('reactivate answered by another stop stops', async () => {
    const desk = await Desk.activated();
    desk.service.answer['/v1/activate'] = () => problem(403, 'license_revoked', 'stop');
    const status = await answered(desk, () => problem(403, 'token_invalid', 'reactivate'));
    expect(status).toMatchObject({ kind: 'stopped', reason: 'license_revoked' });
  });

  test('reactivate without a machine id to read, or without a network, keeps running', async () => {
    let broken = false;
    const machineId = async () => (broken ? Promise.reject(new Error('no ioreg')) : 'ab'.repeat(32));
    const desk = await Desk.activated({ machineId });
    broken = true;
    expect((await answered(desk, () => problem(403, 'token_invalid', 'reactivate'))).kind).toBe('running');
    broken = false;
    desk.service.answer['/v1/activate'] = () => () => Promise.reject(new TypeError('fetch failed'));
    expect((await answered(desk, () => problem(403, 'token_invalid', 'reactivate'))).kind).toBe('running');
  });

  test('stop stops with its detail and members, is told to the application, and is remembered offline', async () => {
    const desk = await Desk.activated();
    const stopped = {
      kind: 'stopped',
      reason: 'version_not_covered',
      detail: 'detail of version_not_covered',
      extras: { newest_covered_version: '2.9.4' },
    };
    expect(await answered(desk, notCovered)).toEqual(stopped);
    expect(desk.states.at(-1)).toEqual(stopped);
    desk.service.unplug();
    expect(await desk.restart()).toEqual(stopped);
  });
});

describe('after a stop', () => {
  test('nothing more is sent until somebody asks', async () => {
    const desk = await stoppedBy();
    await desk.pass(48 * HOUR);
    expect(desk.service.heartbeats).toHaveLength(1);
  });

  test('the user’s retry lifts it where the service confirms again, and the heartbeats go on', async () => {
    const desk = await stoppedBy();
    desk.service.answer['/v1/heartbeat'] = () => desk.service.confirm();
    expect((await desk.client.heartbeatNow()).kind).toBe('running');
    await desk.pass(7 * HOUR);
    expect(desk.service.heartbeats).toHaveLength(3);
  });

  test('a restart asks with a heartbeat, and lifts it', async () => {
    const desk = await stoppedBy();
    desk.service.answer['/v1/heartbeat'] = () => desk.service.confirm();
    expect((await desk.restart()).kind).toBe('running');
    expect(desk.states.filter(({ kind }) => kind === 'needs_network')).toEqual([]);
    desk.service.unplug();
    expect((await desk.restart()).kind).toBe('running');
  });

  test('a reactivate is not followed in the background: a released machine takes no seat back by itself', async () => {
    const desk = await stoppedBy('binding_released');
    desk.service.answer['/v1/heartbeat'] = () => problem(403, 'token_invalid', 'reactivate');
    expect((await desk.restart()).kind).toBe('stopped');
    expect(desk.service.of('/v1/activate')).toHaveLength(1);
  });

  test('the user may activate again', async () => {
    const desk = await stoppedBy('binding_released');
    expect((await desk.client.activate(KEY, EMAIL)).kind).toBe('running');
    desk.service.unplug();
    expect((await desk.restart()).kind).toBe('running');
  });
});

test('a callback of the application that throws hurts nobody', async () => {
  const desk = await Desk.make();
  await desk.open({
    onStateChange: () => {
      throw new Error('ui');
    },
  });
  expect((await desk.client.activate(KEY, EMAIL)).kind).toBe('running');
  await desk.pass(10 * MINUTE);
});

test('after close nothing is sent any more', async () => {
  const desk = await Desk.activated();
  await desk.client.close();
  await desk.client.heartbeatNow();
  await expect(desk.client.activate(KEY, EMAIL)).rejects.toThrow('closed');
  expect(desk.time.pending.size).toBe(0);
  expect(desk.service.calls).toHaveLength(1);
});
