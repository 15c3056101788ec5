import { describe, expect, test } from '@jest/globals';
import { readFile, writeFile } from 'node:fs/promises';
import type { MooringClient } from '../../client/src/client.js';
import type { State } from '../../client/src/state.js';
import { DAY, Computer, EMAIL, HOUR, KEY, MINUTE, problem, START } from './harness.js';

/** Changes the state file while the application is closed. */
async function edit(computer: Computer, change: (state: State) => void): Promise<void> {
  const state = JSON.parse(await readFile(computer.stateFile, 'utf8')) as State;
  change(state);
  await writeFile(computer.stateFile, JSON.stringify(state));
}

describe('a restart', () => {
  test('within seven days runs without the network', async () => {
    const computer = await Computer.activated();
    computer.service.disconnect();
    expect((await computer.restartAfter(7 * DAY)).kind).toBe('running');
    expect(computer.service.calls).toHaveLength(1);
  });

  test('past offline_until sends a heartbeat, not an activation, and runs', async () => {
    const computer = await Computer.activated();
    expect((await computer.restartAfter(7 * DAY + MINUTE)).kind).toBe('running');
    expect(computer.service.calls.map(({ path }) => path)).toEqual(['/v1/activate', '/v1/heartbeat']);
    await computer.advanceTime(5 * HOUR);
    expect(computer.service.heartbeats).toHaveLength(1);
  });

  test('past offline_until without the network leads to needs_network, repeats the heartbeat, and runs after a confirmation', async () => {
    const computer = await Computer.activated();
    const online = computer.service.answer;
    computer.service.disconnect();
    expect(await computer.restartAfter(8 * DAY)).toEqual({
      kind: 'needs_network',
      offline_until: '2026-11-27T13:00:00.000Z',
      reason: 'no connection',
    });
    await computer.advanceTime(HOUR);
    const tries = computer.service.heartbeats.length;
    expect(tries).toBeGreaterThan(4);
    expect(tries).toBeLessThan(12);
    expect(computer.client.status.kind).toBe('needs_network');
    computer.service.answer = online;
    await computer.advanceTime(20 * MINUTE);
    expect(computer.client.status.kind).toBe('running');
    expect(computer.states.at(-1)?.kind).toBe('running');
    expect(computer.service.callsTo('/v1/activate')).toHaveLength(1);
  });

  test('past offline_until has the reason not_asked_yet until the first answer', async () => {
    const computer = await Computer.activated();
    const heartbeatSent = Promise.withResolvers<MooringClient>();
    const answer = Promise.withResolvers<Response>();
    computer.service.answer['/v1/heartbeat'] = () => () => {
      heartbeatSent.resolve(computer.client);
      return answer.promise;
    };
    const started = computer.restartAfter(8 * DAY);
    const { status } = await heartbeatSent.promise;
    answer.resolve(computer.service.confirm());
    expect(status).toMatchObject({ kind: 'needs_network', reason: 'not_asked_yet' });
    expect(await started).toMatchObject({ kind: 'running' });
  });

  test('past offline_until runs, and a stop ends, though a firewall refuses each body with telemetry', async () => {
    const computer = await Computer.activated({ telemetry: () => ({ cpu_cores: 8 }) });
    const hasTelemetry = () => computer.service.heartbeats.map(({ body }) => 'telemetry' in body!);
    computer.service.answer['/v1/heartbeat'] = ({ body }) =>
      body!['telemetry'] ? new Response('<h1>Blocked</h1>', { status: 403 }) : computer.service.confirm();
    expect((await computer.restartAfter(8 * DAY)).kind).toBe('needs_network');
    await computer.advanceTime(MINUTE);
    expect(computer.client.status.kind).toBe('running');
    expect(hasTelemetry()).toEqual([true, false]);

    const behindFirewall = computer.service.answer['/v1/heartbeat'];
    computer.service.answer['/v1/heartbeat'] = () => problem(403, 'license_suspended', 'stop');
    expect((await computer.client.heartbeatNow()).kind).toBe('stopped');
    computer.service.answer['/v1/heartbeat'] = behindFirewall;
    expect((await computer.restart()).kind).toBe('running');
    expect(hasTelemetry()).toEqual([true, false, true, false]);
  });

  test('past offline_until can be retried by the user', async () => {
    const computer = await Computer.activated();
    const online = computer.service.answer;
    computer.service.disconnect();
    await computer.restartAfter(8 * DAY);
    computer.service.answer = online;
    expect((await computer.client.heartbeatNow()).kind).toBe('running');
  });

  test('past offline_until is stopped by a stop, with its detail', async () => {
    const computer = await Computer.activated();
    computer.service.answer['/v1/heartbeat'] = () => problem(403, 'binding_released', 'stop');
    expect(await computer.restartAfter(8 * DAY)).toMatchObject({
      kind: 'stopped',
      reason: 'binding_released',
      detail: 'detail of binding_released',
    });
    expect(computer.service.callsTo('/v1/activate')).toHaveLength(1);
  });

  test('past offline_until follows a reactivate, and stops if that activation is refused', async () => {
    const computer = await Computer.activated();
    computer.service.answer['/v1/heartbeat'] = () => problem(403, 'token_invalid', 'reactivate');
    expect((await computer.restartAfter(8 * DAY)).kind).toBe('running');
    computer.service.answer['/v1/activate'] = () => problem(409, 'machine_limit_reached', 'stop');
    expect(await computer.restartAfter(8 * DAY)).toMatchObject({
      kind: 'stopped',
      reason: 'machine_limit_reached',
    });
  });

  test('past offline_until leads to needs_network if a reactivate cannot be followed without a machine id', async () => {
    const computer = await Computer.activated();
    computer.service.answer['/v1/heartbeat'] = () => problem(403, 'token_invalid', 'reactivate');
    const machineId = () => Promise.reject(new Error('no hardware UUID'));
    expect(await computer.restartAfter(8 * DAY, { machineId })).toMatchObject({
      kind: 'needs_network',
      reason: 'no machine id',
    });
    expect(computer.service.callsTo('/v1/activate')).toHaveLength(1);
    expect((await computer.restart()).kind).toBe('running');
  });

  test('past offline_until does not run after an answer that is no confirmation, and waits for its retry-after', async () => {
    const computer = await Computer.activated();
    computer.service.answer['/v1/heartbeat'] = () =>
      problem(503, 'unavailable', 'retry', {}, { 'retry-after': '120' });
    expect(await computer.restartAfter(8 * DAY)).toMatchObject({
      kind: 'needs_network',
      reason: 'unavailable',
    });
    await computer.advanceTime(110_000);
    expect(computer.service.heartbeats).toHaveLength(1);
    await computer.advanceTime(60_000);
    expect(computer.service.heartbeats).toHaveLength(2);
  });
});

describe('an application that is not restarted', () => {
  test('runs offline without a limit', async () => {
    const computer = await Computer.activated();
    computer.service.disconnect();
    await computer.advanceTime(90 * DAY);
    expect(computer.client.status.kind).toBe('running');
    expect(computer.states.filter(({ kind }) => kind !== 'running' && kind !== 'not_activated')).toEqual([]);
    expect((await computer.restart()).kind).toBe('needs_network');
  });

  test('may be restarted offline again after a heartbeat', async () => {
    const computer = await Computer.activated();
    const online = computer.service.answer;
    computer.service.disconnect();
    await computer.advanceTime(60 * DAY);
    computer.service.answer = online;
    await computer.advanceTime(7 * HOUR);
    computer.service.disconnect();
    expect((await computer.restartAfter(6 * DAY)).kind).toBe('running');
  });
});

describe('the clock', () => {
  test('set backwards does not allow an offline start again', async () => {
    const computer = await Computer.activated();
    computer.service.disconnect();
    expect((await computer.restartAfter(8 * DAY)).kind).toBe('needs_network');
    expect((await computer.restartAfter(-7 * DAY)).kind).toBe('needs_network');
  });

  test('set backwards before every start does not help: running time counts towards the seven days', async () => {
    const computer = await Computer.activated();
    computer.service.disconnect();
    let days = 0;
    while ((await computer.restart()).kind === 'running' && days < 30) {
      await computer.advanceTime(DAY);
      computer.time.wall = START;
      days++;
    }
    // The start after exactly seven days is still allowed.
    expect(days).toBe(8);
  });

  test('that is always a year ahead stops no client', async () => {
    const computer = await Computer.make();
    computer.time.wall += 365 * DAY;
    computer.service.offset = -365 * DAY;
    await computer.open();
    await computer.client.activate(KEY, EMAIL);
    computer.service.disconnect();
    expect((await computer.restartAfter(6 * DAY)).kind).toBe('running');
    expect((await computer.restartAfter(2 * DAY)).kind).toBe('needs_network');
  });

  test('that was a year ahead for a while stops no client once the service confirmed again', async () => {
    const computer = await Computer.activated();
    const online = computer.service.answer;
    computer.service.disconnect();
    computer.time.wall += 365 * DAY;
    computer.service.offset = -365 * DAY;
    expect((await computer.restart()).kind).toBe('needs_network');
    computer.service.answer = online;
    expect((await computer.client.heartbeatNow()).kind).toBe('running');
    computer.service.disconnect();
    computer.time.wall -= 365 * DAY;
    computer.service.offset = 0;
    expect((await computer.restartAfter(3 * DAY)).kind).toBe('running');
    // Once the clock is corrected, time continues from the last confirmed server time.
    expect((await computer.restartAfter(8 * DAY)).kind).toBe('needs_network');
  });

  test('that was behind and is corrected does not count the correction as elapsed time', async () => {
    const computer = await Computer.make();
    computer.time.wall -= 365 * DAY;
    computer.service.offset = 365 * DAY;
    await computer.open();
    await computer.client.activate(KEY, EMAIL);
    computer.service.disconnect();
    computer.time.wall += 365 * DAY;
    computer.service.offset = 0;
    expect((await computer.restartAfter(6 * DAY)).kind).toBe('running');
    expect((await computer.restartAfter(2 * DAY)).kind).toBe('needs_network');
  });

  test('past the year 9999 is stored as the latest time that the file can hold', async () => {
    const computer = await Computer.activated();
    const online = computer.service.answer;
    computer.service.disconnect();
    computer.time.wall = Date.parse('+012026-01-01T00:00:00Z');
    expect((await computer.restart()).kind).toBe('needs_network');
    await computer.client.close();
    const { time } = JSON.parse(await readFile(computer.stateFile, 'utf8')) as State;
    expect(time.highest_seen).toBe('9999-12-31T23:59:59.999Z');
    computer.time.wall = START;
    expect((await computer.open()).kind).toBe('needs_network');
    computer.service.answer = online;
    expect((await computer.client.heartbeatNow()).kind).toBe('running');
    computer.service.disconnect();
    expect((await computer.restartAfter(6 * DAY)).kind).toBe('running');
  });

  test.each([1e12, 1e300])('given as %p seconds ahead in the file crashes no start', async (seconds) => {
    const computer = await Computer.activated();
    await computer.client.close();
    const state = JSON.parse(await readFile(computer.stateFile, 'utf8')) as State;
    const time = { highest_seen: null, clock_ahead_seconds: seconds };
    await writeFile(computer.stateFile, JSON.stringify({ ...state, time }));
    expect((await computer.open()).kind).toBe('running');
    await computer.client.close();
    const kept = JSON.parse(await readFile(computer.stateFile, 'utf8')) as State;
    expect(kept.time.highest_seen).toMatch(/^\d{4}-/);
  });
});

/** Makes a computer on which version 4.0 was refused because the license covers versions up to 3.1.0 only. */
async function stoppedAtVersion4(): Promise<Computer> {
  const computer = await Computer.activated();
  await computer.restart({ appVersion: '4.0' });
  const extras = { newest_covered_version: '3.1.0' };
  computer.service.answer['/v1/heartbeat'] = () => problem(403, 'version_not_covered', 'stop', extras);
  expect((await computer.client.heartbeatNow()).kind).toBe('stopped');
  computer.service.disconnect();
  return computer;
}

describe('a stop of a version that is not covered', () => {
  test('does not stop another version, which runs until the end of the token, also without the network', async () => {
    const computer = await stoppedAtVersion4();
    expect((await computer.restart()).kind).toBe('running');
    await computer.advanceTime(10 * MINUTE);
    expect(computer.service.heartbeats.at(-1)!.body).toMatchObject({ app_version: '3.1.0' });
    expect(computer.client.status.kind).toBe('running');
    expect((await computer.restartAfter(8 * DAY)).kind).toBe('needs_network');
  });

  test('stops the same version at each start, until a confirmation', async () => {
    const computer = await stoppedAtVersion4();
    expect((await computer.restart({ appVersion: '4.0' })).kind).toBe('stopped');
    expect((await computer.restart()).kind).toBe('running');
    expect((await computer.restart({ appVersion: '4.0' })).kind).toBe('stopped');
    computer.service.answer['/v1/heartbeat'] = () => computer.service.confirm();
    expect((await computer.restart({ appVersion: '4.0' })).kind).toBe('running');
  });

  test('that an earlier client stored without the version stops no version: it was part of an earlier version', async () => {
    const computer = await stoppedAtVersion4();
    await computer.client.close();
    await edit(computer, ({ stopped }) => delete stopped!.app_version);
    expect((await computer.open()).kind).toBe('running');
  });

  test('is replaced by a stop of the license, which stops each version', async () => {
    const computer = await stoppedAtVersion4();
    computer.service.answer['/v1/heartbeat'] = () => problem(403, 'license_revoked', 'stop');
    expect((await computer.client.heartbeatNow()).kind).toBe('stopped');
    computer.service.disconnect();
    expect(await computer.restart()).toMatchObject({ kind: 'stopped', reason: 'license_revoked' });
  });
});

describe('a stop in a file that two computers share', () => {
  test.each(['binding_released', 'machine_limit_reached'])(
    'does not stop the other computer, and still stops its own: %s',
    async (code) => {
      const other = { machineId: async () => 'cd'.repeat(32) };
      const computer = await Computer.activated();
      await computer.restart(other);
      computer.service.answer['/v1/heartbeat'] = () => problem(403, code, 'stop');
      expect((await computer.client.heartbeatNow()).kind).toBe('stopped');
      computer.service.disconnect();
      expect((await computer.restart()).kind).toBe('running');
      expect(await computer.restart(other)).toMatchObject({ kind: 'stopped', reason: code });
    },
  );

  test('stops both computers if it is about the license', async () => {
    const computer = await Computer.activated();
    await computer.restart({ machineId: async () => 'cd'.repeat(32) });
    computer.service.answer['/v1/heartbeat'] = () => problem(403, 'license_revoked', 'stop');
    expect((await computer.client.heartbeatNow()).kind).toBe('stopped');
    computer.service.disconnect();
    expect((await computer.restart()).kind).toBe('stopped');
  });

  test.each([5, '', null, { a: 1 }])(
    'stops this computer if the license key and the machine in it are %j, which counts as missing',
    async (value) => {
      const computer = await Computer.activated();
      computer.service.answer['/v1/heartbeat'] = () => problem(403, 'binding_released', 'stop');
      await computer.client.heartbeatNow();
      computer.service.disconnect();
      for (const name of ['license_key', 'mch']) {
        await computer.client.close();
        await edit(computer, ({ stopped }) => Object.assign(stopped!, { [name]: value }));
        expect((await computer.open()).kind).toBe('stopped');
      }
    },
  );

  test.each(['the machine that stopped', 'this machine'])(
    'stops this computer if the id of %s could not be read',
    async (name) => {
      const unreadable = { machineId: () => Promise.reject(new Error('no hardware UUID')) };
      const computer = await Computer.activated();
      await computer.restart(name === 'this machine' ? {} : unreadable);
      computer.service.answer['/v1/heartbeat'] = () => problem(403, 'binding_released', 'stop');
      expect((await computer.client.heartbeatNow()).kind).toBe('stopped');
      expect((await computer.restart(name === 'this machine' ? unreadable : {})).kind).toBe('stopped');
    },
  );
});
