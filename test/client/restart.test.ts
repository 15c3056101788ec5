import { describe, expect, test } from '@jest/globals';
import { readFile, writeFile } from 'node:fs/promises';
import type { MooringClient } from '../../client/src/client.js';
import type { State } from '../../client/src/state-file.js';
import { DAY, Desk, EMAIL, HOUR, KEY, MINUTE, problem, START } from './harness.js';

describe('a restart', () => {
  test('within seven days runs without the network', async () => {
    const desk = await Desk.activated();
    desk.service.unplug();
    expect((await desk.restartAfter(7 * DAY)).kind).toBe('running');
    expect(desk.service.calls).toHaveLength(1);
  });

  test('past offline_until asks with a heartbeat, not an activation, and runs', async () => {
    const desk = await Desk.activated();
    expect((await desk.restartAfter(7 * DAY + MINUTE)).kind).toBe('running');
    expect(desk.service.calls.map(({ path }) => path)).toEqual(['/v1/activate', '/v1/heartbeat']);
    await desk.pass(5 * HOUR);
    expect(desk.service.heartbeats).toHaveLength(1);
  });

  test('past offline_until without the network says needs_network, keeps trying, and runs when it is back', async () => {
    const desk = await Desk.activated();
    const online = desk.service.answer;
    desk.service.unplug();
    expect(await desk.restartAfter(8 * DAY)).toEqual({
      kind: 'needs_network',
      offline_until: '2026-11-27T13:00:00.000Z',
      reason: 'no connection',
    });
    await desk.pass(HOUR);
    const tries = desk.service.heartbeats.length;
    expect(tries).toBeGreaterThan(4);
    expect(tries).toBeLessThan(12);
    expect(desk.client.status.kind).toBe('needs_network');
    desk.service.answer = online;
    await desk.pass(20 * MINUTE);
    expect(desk.client.status.kind).toBe('running');
    expect(desk.states.at(-1)?.kind).toBe('running');
    expect(desk.service.of('/v1/activate')).toHaveLength(1);
  });

  test('past offline_until says until the answer that nothing was asked yet', async () => {
    const desk = await Desk.activated();
    const asked = Promise.withResolvers<MooringClient>();
    const answered = Promise.withResolvers<Response>();
    desk.service.answer['/v1/heartbeat'] = () => () => {
      asked.resolve(desk.client);
      return answered.promise;
    };
    const started = desk.restartAfter(8 * DAY);
    const { status } = await asked.promise;
    answered.resolve(desk.service.confirm());
    expect(status).toMatchObject({ kind: 'needs_network', reason: 'not_asked_yet' });
    expect(await started).toMatchObject({ kind: 'running' });
  });

  test('past offline_until can be retried by the user', async () => {
    const desk = await Desk.activated();
    const online = desk.service.answer;
    desk.service.unplug();
    await desk.restartAfter(8 * DAY);
    desk.service.answer = online;
    expect((await desk.client.heartbeatNow()).kind).toBe('running');
  });

  test('past offline_until is stopped by a stop, with its detail', async () => {
    const desk = await Desk.activated();
    desk.service.answer['/v1/heartbeat'] = () => problem(403, 'binding_released', 'stop');
    expect(await desk.restartAfter(8 * DAY)).toMatchObject({
      kind: 'stopped',
      reason: 'binding_released',
      detail: 'detail of binding_released',
    });
    expect(desk.service.of('/v1/activate')).toHaveLength(1);
  });

  test('past offline_until follows a reactivate, whose refusal stops now', async () => {
    const desk = await Desk.activated();
    desk.service.answer['/v1/heartbeat'] = () => problem(403, 'token_invalid', 'reactivate');
    expect((await desk.restartAfter(8 * DAY)).kind).toBe('running');
    desk.service.answer['/v1/activate'] = () => problem(409, 'machine_limit_reached', 'stop');
    expect(await desk.restartAfter(8 * DAY)).toMatchObject({
      kind: 'stopped',
      reason: 'machine_limit_reached',
    });
  });

  test('past offline_until waits where a reactivate cannot be followed without a machine id', async () => {
    const desk = await Desk.activated();
    desk.service.answer['/v1/heartbeat'] = () => problem(403, 'token_invalid', 'reactivate');
    const machineId = () => Promise.reject(new Error('no hardware UUID'));
    expect(await desk.restartAfter(8 * DAY, { machineId })).toMatchObject({
      kind: 'needs_network',
      reason: 'no machine id',
    });
    expect(desk.service.of('/v1/activate')).toHaveLength(1);
    expect((await desk.restart()).kind).toBe('running');
  });

  test('past offline_until is not let through by an answer that confirms nothing', async () => {
    const desk = await Desk.activated();
    desk.service.answer['/v1/heartbeat'] = () =>
      problem(503, 'unavailable', 'retry', {}, { 'retry-after': '120' });
    expect(await desk.restartAfter(8 * DAY)).toMatchObject({ kind: 'needs_network', reason: 'unavailable' });
    await desk.pass(110_000);
    expect(desk.service.heartbeats).toHaveLength(1);
    await desk.pass(60_000);
    expect(desk.service.heartbeats).toHaveLength(2);
  });
});

describe('grace', () => {
  test('an application that stays up runs offline for ever', async () => {
    const desk = await Desk.activated();
    desk.service.unplug();
    await desk.pass(90 * DAY);
    expect(desk.client.status.kind).toBe('running');
    expect(desk.states.filter(({ kind }) => kind !== 'running' && kind !== 'not_activated')).toEqual([]);
    expect((await desk.restart()).kind).toBe('needs_network');
  });

  test('a heartbeat after months offline renews everything', async () => {
    const desk = await Desk.activated();
    const online = desk.service.answer;
    desk.service.unplug();
    await desk.pass(60 * DAY);
    desk.service.answer = online;
    await desk.pass(7 * HOUR);
    desk.service.unplug();
    expect((await desk.restartAfter(6 * DAY)).kind).toBe('running');
  });
});

describe('the clock', () => {
  test('set backwards does not bring back a time that is over', async () => {
    const desk = await Desk.activated();
    desk.service.unplug();
    expect((await desk.restartAfter(8 * DAY)).kind).toBe('needs_network');
    expect((await desk.restartAfter(-7 * DAY)).kind).toBe('needs_network');
  });

  test('set backwards before every start uses up the seven days as running time', async () => {
    const desk = await Desk.activated();
    desk.service.unplug();
    let days = 0;
    while ((await desk.restart()).kind === 'running' && days < 30) {
      await desk.pass(DAY);
      desk.time.wall = START;
      days++;
    }
    expect(days).toBe(8);
  });

  test('that is simply a year ahead costs nobody anything', async () => {
    const desk = await Desk.make();
    desk.time.wall += 365 * DAY;
    desk.service.offset = -365 * DAY;
    await desk.open();
    await desk.client.activate(KEY, EMAIL);
    desk.service.unplug();
    expect((await desk.restartAfter(6 * DAY)).kind).toBe('running');
    expect((await desk.restartAfter(2 * DAY)).kind).toBe('needs_network');
  });

  test('that was a year ahead for a while locks nobody out once the service confirmed again', async () => {
    const desk = await Desk.activated();
    const online = desk.service.answer;
    desk.service.unplug();
    desk.time.wall += 365 * DAY;
    desk.service.offset = -365 * DAY;
    expect((await desk.restart()).kind).toBe('needs_network');
    desk.service.answer = online;
    expect((await desk.client.heartbeatNow()).kind).toBe('running');
    desk.service.unplug();
    desk.time.wall -= 365 * DAY;
    desk.service.offset = 0;
    expect((await desk.restartAfter(3 * DAY)).kind).toBe('running');
    // Put right, the clock counts again from where time was known to be.
    expect((await desk.restartAfter(8 * DAY)).kind).toBe('needs_network');
  });

  test('that was behind and is put right does not look like time gone by', async () => {
    const desk = await Desk.make();
    desk.time.wall -= 365 * DAY;
    desk.service.offset = 365 * DAY;
    await desk.open();
    await desk.client.activate(KEY, EMAIL);
    desk.service.unplug();
    desk.time.wall += 365 * DAY;
    desk.service.offset = 0;
    expect((await desk.restartAfter(6 * DAY)).kind).toBe('running');
    expect((await desk.restartAfter(2 * DAY)).kind).toBe('needs_network');
  });

  test('past the year 9999 is kept as the last time that the file can hold, and is not forgotten', async () => {
    const desk = await Desk.activated();
    const online = desk.service.answer;
    desk.service.unplug();
    desk.time.wall = Date.parse('+012026-01-01T00:00:00Z');
    expect((await desk.restart()).kind).toBe('needs_network');
    await desk.client.close();
    const { time } = JSON.parse(await readFile(desk.stateFile, 'utf8')) as State;
    expect(time.highest_seen).toBe('9999-12-31T23:59:59.999Z');
    desk.time.wall = START;
    expect((await desk.open()).kind).toBe('needs_network');
    desk.service.answer = online;
    expect((await desk.client.heartbeatNow()).kind).toBe('running');
    desk.service.unplug();
    expect((await desk.restartAfter(6 * DAY)).kind).toBe('running');
  });

  test.each([1e12, 1e300])('said to be %p seconds ahead in the file crashes no start', async (seconds) => {
    const desk = await Desk.activated();
    await desk.client.close();
    const state = JSON.parse(await readFile(desk.stateFile, 'utf8')) as State;
    const time = { highest_seen: null, clock_ahead_seconds: seconds };
    await writeFile(desk.stateFile, JSON.stringify({ ...state, time }));
    expect((await desk.open()).kind).toBe('running');
    await desk.client.close();
    const kept = JSON.parse(await readFile(desk.stateFile, 'utf8')) as State;
    expect(kept.time.highest_seen).toMatch(/^\d{4}-/);
  });
});
