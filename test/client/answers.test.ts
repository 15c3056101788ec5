import { describe, expect, jest, test } from '@jest/globals';
import { MooringClient } from '../../client/src/client.js';
import { ANSWER_LIMIT_BYTES, Transport } from '../../client/src/transport.js';
import { readLicenseAnswer } from '../../client/src/answers.js';
import { asObject, parseObject } from '../../client/src/json.js';
import { machineDigest, readToken } from '../../client/src/license-token.js';
import { LicenseProblem, ServiceUnreachable } from '../../client/src/problem.js';
import { readMachineId } from '../../client/src/machine-id.js';
import { withDefaults, type ClientOptions } from '../../client/src/options.js';
import type { State } from '../../client/src/state.js';
import { readState, writeState } from '../../client/src/state-file.js';
import { getEventListeners } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '../support/folders.js';
import {
  DAY,
  Computer,
  EMAIL,
  FakeTime,
  HOUR,
  json,
  KEY,
  MACHINE_ID,
  MINUTE,
  problem,
  START,
} from './harness.js';
import { serve } from '../support/listen.js';

const CONFIRMED = {
  token: 'a token',
  offline_until: '2026-11-27T13:00:00Z',
  server_time: '2026-11-20T13:00:00Z',
  heartbeat_after_seconds: 21_600,
  license: { status: 'active', expires_at: null },
};

const read = (status: number, body: unknown, media_type = 'application/json', retry_after_seconds?: number) =>
  readLicenseAnswer({
    kind: 'answer',
    status,
    media_type,
    text: typeof body === 'string' ? body : JSON.stringify(body),
    retry_after_seconds,
  } as never);

describe('a confirmation', () => {
  test.each([200, 201])('is read from a %i', (status) =>
    expect(read(status, CONFIRMED)).toEqual({
      kind: 'confirmed',
      confirmation: {
        token: 'a token',
        offline_until: CONFIRMED.offline_until,
        server_time: CONFIRMED.server_time,
        heartbeat_after_seconds: 21_600,
        license_expires_at: null,
      },
    }),
  );

  test.each([undefined, null, '60', {}])(
    'whose heartbeat_after_seconds is %j is read as one without it',
    (seconds) =>
      expect(read(200, { ...CONFIRMED, heartbeat_after_seconds: seconds })).toMatchObject({
        confirmation: { heartbeat_after_seconds: undefined },
      }),
  );

  test('has a token of at most 2,048 characters', () => {
    expect(read(200, { ...CONFIRMED, token: 'x'.repeat(2_048) }).kind).toBe('confirmed');
    expect(read(200, { ...CONFIRMED, token: 'x'.repeat(2_049) }).kind).toBe('no_answer');
  });

  test.each([
    ['no token', { token: undefined }],
    ['an empty token', { token: '' }],
    ['no offline_until', { offline_until: undefined }],
    ['an offline_until that has passed', { offline_until: CONFIRMED.server_time }],
    ['a server_time that is not a time', { server_time: 'now' }],
    ['no license', { license: undefined }],
    ['a list for a license', { license: [] }],
    ['an expiry that is not a time', { license: { expires_at: 'never' } }],
    ['no expiry', { license: {} }],
  ])('with %s confirms nothing', (_what, change) =>
    expect(read(200, { ...CONFIRMED, ...change })).toEqual({
      kind: 'no_answer',
      reason: 'not an answer of the service, status 200',
      hasResponse: true,
      retry_after_seconds: undefined,
    }),
  );

  test('of another media type confirms nothing', () =>
    expect(read(200, CONFIRMED, 'text/html').kind).toBe('no_answer'));
});

describe('a problem', () => {
  const body = { code: 'a_code', title: 'A title', detail: 'A detail', client_action: 'stop' };
  const problemOf = (status: number, change: object, media_type = 'application/problem+json') => {
    const outcome = read(status, { ...body, ...change }, media_type, 7);
    return outcome.kind === 'problem' ? outcome.problem : outcome;
  };

  test('is reported with the first of detail, title and code that is a text and not empty', () => {
    expect(problemOf(409, {})).toMatchObject({ detail: 'A detail' });
    for (const none of ['', undefined, 7]) {
      expect(problemOf(409, { detail: none })).toMatchObject({ detail: 'A title' });
      expect(problemOf(409, { detail: none, title: none })).toMatchObject({ detail: 'a_code' });
    }
  });

  test('keeps the errors whose pointer and detail are texts', () => {
    const good = { pointer: '/email', detail: 'wrong' };
    const errors = [
      { ...good, more: 1 },
      { pointer: 1, detail: 'x' },
      { pointer: '/x', detail: 1 },
      null,
      [],
    ];
    expect(problemOf(422, { errors })).toMatchObject({ errors: [good] });
    expect(problemOf(422, { errors: 'x' })).toMatchObject({ errors: [] });
    expect(problemOf(422, {})).toMatchObject({ errors: [] });
  });

  test.each([
    [400, 'stop', 'stop'],
    [499, 'reactivate', 'reactivate'],
    [422, 'fix', 'fix'],
    [429, 'retry', 'retry'],
    [409, 'dance', 'retry'],
    [409, undefined, 'retry'],
    [500, 'stop', 'retry'],
    [503, 'reactivate', 'retry'],
  ])('of status %i that asks for %s leads to %s', (status, client_action, followed) =>
    expect(problemOf(status, { client_action })).toMatchObject({ client_action: followed }),
  );

  test.each([
    ['a status below 400', 399, {}, undefined],
    ['no code', 409, { code: undefined }, undefined],
    ['an empty code', 409, { code: '' }, undefined],
    ['a number for a code', 409, { code: 7 }, undefined],
    ['another media type', 409, {}, 'application/json'],
  ])('with %s is not a problem', (_what, status, change, media_type) => {
    expect(problemOf(status, change, media_type)).toMatchObject({ kind: 'no_answer', hasResponse: true });
  });

  test('keeps its retry-after; a response that is no problem keeps it only with status 429 or 503', () => {
    expect(read(409, body, 'application/problem+json', 7)).toMatchObject({
      problem: { retry_after_seconds: 7 },
    });
    for (const [status, seconds] of [
      [429, 7],
      [503, 7],
      [500, undefined],
      [502, undefined],
    ] as const)
      expect(read(status, 'busy', 'text/html', 7)).toMatchObject({ retry_after_seconds: seconds });
  });
});

test('a JSON object is distinguished from other values and from text that is not JSON', () => {
  expect(asObject({ a: 1 })).toEqual({ a: 1 });
  for (const other of [null, undefined, [], 'text', 7, true]) expect(asObject(other)).toBeUndefined();
  expect(parseObject('{"a":1}')).toEqual({ a: 1 });
  for (const text of ['', '{', 'null', '[]', '"x"', '7']) expect(parseObject(text)).toBeUndefined();
});

test('JSON that is nested more than 32 levels deep is not read', () => {
  const nested = (levels: number) => `{"more":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
  expect(parseObject(nested(32))).toHaveProperty('more');
  for (const levels of [33, 50_000]) expect(parseObject(nested(levels))).toBeUndefined();
});

const OPTIONS: ClientOptions = {
  baseUrl: 'https://license.example',
  app: 'EXAMPLE',
  product: 'com.example.app',
  appVersion: '3.1.0',
  trustedKeys: [],
  stateFile: 'unused',
};

describe('the options of an application', () => {
  test('are refused if appVersion is not a dotted version', () =>
    expect(() => withDefaults({ ...OPTIONS, appVersion: '3.1-beta' })).toThrow('appVersion must be dotted'));

  test('may be only the required ones: the others default to those of the system', async () => {
    const { environment, random, clock } = withDefaults(OPTIONS);
    expect(environment).toBe(process.env);
    expect(random).toBe(Math.random);
    expect(Math.abs(clock.now() - Date.now())).toBeLessThan(86_400_000);
  });

  test('may lack the machine id: it is read from this computer', async () => {
    const resultOf = (id: Promise<string>) => id.catch(String); // Some computers have no id that can be read.
    const { machineId } = withDefaults({ ...OPTIONS, machineId: undefined });
    expect(await resultOf(machineId())).toBe(await resultOf(readMachineId(process.env)));
  });

  test('need no callbacks', () => {
    const lines: string[] = [];
    const { onStateChange, onUpdateCheck } = withDefaults({ ...OPTIONS, log: (line) => lines.push(line) });
    onStateChange({ kind: 'not_activated' });
    onUpdateCheck({ available: false, reason: 'unreachable' });
    expect(lines).toEqual([]);
  });

  test('default to the log and the network of the system', async () => {
    const { log, fetch } = withDefaults(OPTIONS);
    const info = jest.spyOn(console, 'info').mockReturnValue();
    const url = await serve((_request, response) => response.writeHead(204).end());
    try {
      log('a line');
      expect(info.mock.calls).toEqual([['a line']]);
      expect((await fetch(url, {})).status).toBe(204);
    } finally {
      info.mockRestore();
    }
  });

  test('may be callbacks that throw: the client logs that and continues', async () => {
    const log: string[] = [];
    const work: (() => void)[] = [];
    const timers = { set: (callback: () => void) => void work.push(callback), clear: () => undefined };
    const fails = () => {
      throw new Error('of the application');
    };
    const {
      onStateChange,
      onUpdateCheck,
      timers: safeTimers,
      log: safeLog,
    } = withDefaults({
      ...OPTIONS,
      log: (line) => log.push(line),
      onStateChange: fails,
      onUpdateCheck: fails,
      timers,
    });
    onStateChange({ kind: 'not_activated' });
    onUpdateCheck({ available: false, reason: 'unreachable' });
    expect(log).toEqual(Array(2).fill('a callback of the application failed'));
    safeTimers.set(() => Promise.reject(new Error('in the background')), 1);
    work[0]!();
    await new Promise(setImmediate);
    expect(log[2]).toBe('a call in the background failed');
    expect(() => safeLog('x')).not.toThrow();
    const rejects = () => Promise.reject(new Error('of the application'));
    const rejectingCallbacks = { onStateChange: rejects, onUpdateCheck: rejects };
    withDefaults({ ...OPTIONS, ...rejectingCallbacks, log: (line) => log.push(line) }).onUpdateCheck({
      available: false,
      reason: 'expired',
    });
    withDefaults({ ...OPTIONS, log: rejects }).log('x');
    await new Promise(setImmediate);
    expect(log.slice(3)).toEqual(['x', 'a callback of the application failed']);
    expect(() => withDefaults({ ...OPTIONS, log: fails }).log('x')).not.toThrow();
  });
});

describe('the state file', () => {
  const license = {
    license_key: KEY,
    email: EMAIL,
    hostname_hint: null,
    token: 'a token',
    offline_until: '2026-11-27T13:00:00Z',
    expires_at: null,
  };
  const readBack = async (state: object) => {
    const file = join(temporaryFolder(), 'license.json');
    await writeFile(file, JSON.stringify({ version: 1, ...state }));
    return readState(file, () => undefined);
  };

  test.each([
    ['a license', { license: { ...license, hostname_hint: 'Studio', expires_at: '2027-01-01T00:00:00Z' } }],
    ['a stop', { stopped: { code: 'x', detail: 'y', extras: {} } }],
    ['a time', { time: { highest_seen: '2026-11-27T13:00:00Z', clock_ahead_seconds: -3 } }],
    ['a time without a highest time seen', { time: { highest_seen: null, clock_ahead_seconds: 3 } }],
    ['a crash', { crash: { crash_kind: 'native' } }],
    ['a sequence', { sequences: { a: { sequence: 3, digest: 'd' } } }],
  ])('keeps %s', async (_what, part) => expect(await readBack(part)).toMatchObject(part));

  test.each([
    ['7 for license', { license: 7 }],
    ...['license_key', 'email', 'token', 'offline_until', 'hostname_hint', 'expires_at'].map(
      (name) => [`7 for ${name}`, { license: { ...license, [name]: 7 } }] as const,
    ),
    ['an offline_until that is not a time', { license: { ...license, offline_until: 'soon' } }],
    ['an expiry that is not a time', { license: { ...license, expires_at: 'never' } }],
    ['7 for stopped', { license, stopped: 7 }],
    ['a stop without a code', { license, stopped: { detail: 'y', extras: {} } }],
    ['a stop without a detail', { license, stopped: { code: 'x', extras: {} } }],
    ['a stop without extras', { license, stopped: { code: 'x', detail: 'y' } }],
    ['a stop with a list for extras', { license, stopped: { code: 'x', detail: 'y', extras: [] } }],
  ])('with %s is read without its license and its stop', async (_what, part) =>
    expect(await readBack(part)).toMatchObject({ license: null, stopped: null }),
  );

  test('with a damaged time, crash or sequence loses only this part, and keeps the license', async () => {
    const none = { highest_seen: null, clock_ahead_seconds: 0 };
    for (const time of [7, null, {}, { ...none, clock_ahead_seconds: 'x' }, { ...none, highest_seen: 'x' }])
      expect(await readBack({ license, time })).toMatchObject({ license, time: none });
    expect(await readBack({ license, crash: [] })).toMatchObject({ license, crash: null });
    const sequences = { a: null, b: { sequence: 1.5, digest: 'd' }, c: { sequence: 1, digest: 7 } };
    expect((await readBack({ license, sequences }))!.sequences).toEqual({});
    expect((await readBack({ license, sequences: [] }))!.sequences).toEqual({});
  });

  test('that cannot be renamed to its place leaves no temporary file with the license key', async () => {
    const folder = temporaryFolder();
    await mkdir(join(folder, 'license.json', 'full'), { recursive: true });
    const state = (await readBack({ license }))!;
    await expect(writeState(join(folder, 'license.json'), state)).rejects.toThrow();
    expect(await readdir(folder)).toEqual(['license.json']);
  });
});

describe('a client without a license', () => {
  test('is not activated before its start, and makes no call after its end', async () => {
    const computer = await Computer.make();
    const opened = computer.open();
    expect(computer.client.status).toEqual({ kind: 'not_activated' });
    await opened;
    await computer.client.close();
    const calls = computer.service.calls.length;
    expect(await computer.client.checkForUpdate()).toEqual({ available: false, reason: 'unreachable' });
    await expect(computer.client.activate(KEY, EMAIL)).rejects.toThrow('the client is closed');
    await computer.client.heartbeatNow();
    expect(computer.service.calls).toHaveLength(calls);
  });

  test('can be closed before its start', async () => {
    const client = new MooringClient({ ...OPTIONS, stateFile: join(temporaryFolder(), 'x.json') });
    await expect(client.close()).resolves.toBeUndefined();
  });

  test('schedules no heartbeat, also when one is requested', async () => {
    const computer = await Computer.opened();
    expect(await computer.client.heartbeatNow()).toEqual({ kind: 'not_activated' });
    expect(computer.service.calls).toEqual([]);
    // The only timer is that of the daily check for an update.
    expect(computer.time.pending.size).toBe(1);
  });
});

describe('the transport', () => {
  test('aborts a response that is too large', async () => {
    const { clock, timers } = new FakeTime();
    let isCancelled = false;
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(ANSWER_LIMIT_BYTES)),
      cancel: () => void (isCancelled = true),
    });
    const { signal } = new AbortController();
    const dependencies = { clock, timers, signal, fetch: async () => new Response(body) };
    const call = new Transport('https://license.example', dependencies).call({
      method: 'GET',
      path: '/v1/manifest',
    });
    expect(await call).toMatchObject({ kind: 'no_answer', reason: 'answer too large', hasResponse: true });
    expect(isCancelled).toBe(true);
  });

  test('removes its abort listener after each call', async () => {
    const { clock, timers } = new FakeTime();
    const { signal } = new AbortController();
    const listening: number[] = [];
    const fetch = async () => {
      listening.push(getEventListeners(signal, 'abort').length);
      return json(200, {});
    };
    const transport = new Transport('https://license.example', { clock, timers, signal, fetch });
    await transport.call({ method: 'GET', path: '/v1/manifest' });
    expect([...listening, getEventListeners(signal, 'abort').length]).toEqual([1, 0]);
  });

  test('returns no answer after the client was closed', async () => {
    const { clock, timers } = new FakeTime();
    const dependencies = { clock, timers, signal: AbortSignal.abort(), fetch: async () => json(200, {}) };
    const call = new Transport('https://license.example', dependencies).call({
      method: 'GET',
      path: '/v1/manifest',
    });
    expect(await call).toMatchObject({ kind: 'no_answer', reason: 'closed' });
  });
});

test('a token may have been issued at the first moment of 1970, and has exactly three parts', () => {
  const token = `${segment({ kid: 'k' })}.${segment({ mch: 'm', iat: 0, exp: 1 })}.A`;
  expect(readToken({ token, offline_until: CONFIRMED.offline_until }, []).claims).toEqual({
    mch: 'm',
    iat: 0,
    exp: 1,
  });
  for (const other of [`x.${token}`, `!${token}`, `${token}.x`, `${token}!`])
    expect(readToken({ token: other, offline_until: CONFIRMED.offline_until }, []).claims).toBeUndefined();
});

test('LicenseProblem and ServiceUnreachable have a text with their name and the reason', () => {
  const facts = { status: 403, code: 'license_revoked', detail: 'The license was revoked.' };
  const problem = new LicenseProblem({
    ...facts,
    client_action: 'stop',
    errors: [],
    extras: {},
    retry_after_seconds: 7,
  });
  expect(String(problem)).toBe('LicenseProblem: license_revoked: The license was revoked.');
  expect(String(new ServiceUnreachable('timeout'))).toMatch(/^ServiceUnreachable: .*timeout/);
});

const segment = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const tokenOf = (machine: string) =>
  `${segment({ alg: 'Ed25519', kid: 'k', typ: 'license+jwt' })}.${segment({
    mch: machineDigest(machine),
    iat: START / 1_000,
    exp: (START + 7 * DAY) / 1_000,
  })}.${'A'.repeat(86)}`;

/** Makes an activated computer with this machine id. The service issues its tokens for this machine. */
async function computerWith(machine: string): Promise<Computer> {
  const computer = await Computer.make();
  computer.service.answer['/v1/activate'] = () => computer.service.confirm(201, { token: tokenOf(machine) });
  computer.service.answer['/v1/heartbeat'] = () => computer.service.confirm(200, { token: tokenOf(machine) });
  await computer.open({ machineId: async () => machine });
  await computer.client.activate(KEY, EMAIL, 'Studio Mac');
  return computer;
}

describe('a client whose state file has the token of another machine', () => {
  test('activates this machine instead of sending a heartbeat, without the label of the other machine', async () => {
    const computer = await computerWith(MACHINE_ID);
    const thisMachine = 'cd'.repeat(32);
    computer.service.answer['/v1/activate'] = () =>
      computer.service.confirm(201, { token: tokenOf(thisMachine) });
    computer.service.calls = [];
    expect(await computer.restart({ machineId: async () => thisMachine })).toMatchObject({ kind: 'running' });
    await computer.advanceTime(7 * HOUR);
    expect(computer.service.callsTo('/v1/activate')).toHaveLength(1);
    const licensing = computer.service.calls.filter(({ path }) => path !== '/v1/manifest');
    expect(licensing[0]!.body).toMatchObject({ license_key: KEY, email: EMAIL, machine_id: thisMachine });
    expect(licensing[0]!.body).not.toHaveProperty('hostname_hint');
    expect(computer.log).toContain('the license was activated on another machine: activating on this one');
    // The client sends this machine's own token from now on.
    await computer.advanceTime(7 * DAY);
    expect(computer.service.heartbeats.length).toBeGreaterThan(0);
    for (const { body } of computer.service.heartbeats)
      expect(body).toMatchObject({ token: tokenOf(thisMachine) });
  });

  test('runs until the end of the token if the machine limit is reached, and reports the limit', async () => {
    const computer = await computerWith(MACHINE_ID);
    const extras = { portal_url: 'https://license.example/portal' };
    computer.service.answer['/v1/activate'] = () => problem(409, 'machine_limit_reached', 'stop', extras);
    await computer.restart({ machineId: async () => 'cd'.repeat(32) });
    expect(await computer.client.heartbeatNow()).toMatchObject({
      kind: 'running',
      machine_limit_reached: extras,
    });
    await computer.advanceTime(8 * DAY);
    expect(computer.client.status).toMatchObject({ kind: 'stopped', reason: 'machine_limit_reached' });
  });

  describe('and that was stopped by a refusal', () => {
    const onThisMachine = { machineId: async () => 'cd'.repeat(32) };

    async function stoppedOnOtherMachine(code: string): Promise<Computer> {
      const computer = await computerWith(MACHINE_ID);
      computer.service.answer['/v1/heartbeat'] = () => problem(403, code, 'stop');
      await computer.client.heartbeatNow();
      computer.service.calls = [];
      expect(await computer.restart(onThisMachine)).toMatchObject({ kind: 'stopped', reason: code });
      await computer.advanceTime(HOUR);
      expect(computer.service.callsTo('/v1/activate')).toEqual([]);
      return computer;
    }

    test('stays stopped on a retry, until the user activates, if an older version of the client stored the stop without a machine digest', async () => {
      const computer = await computerWith(MACHINE_ID);
      computer.service.answer['/v1/heartbeat'] = () => problem(403, 'binding_released', 'stop');
      await computer.client.heartbeatNow();
      await computer.client.close();
      const state = JSON.parse(await readFile(computer.stateFile, 'utf8')) as State;
      delete state.stopped!.mch;
      await writeFile(computer.stateFile, JSON.stringify(state));
      computer.service.calls = [];
      expect((await computer.open(onThisMachine)).kind).toBe('stopped');
      expect(await computer.client.heartbeatNow()).toMatchObject({ kind: 'stopped' });
      await computer.advanceTime(DAY);
      expect(computer.service.calls.filter(({ path }) => path !== '/v1/manifest')).toEqual([]);
      expect((await computer.client.activate(KEY, EMAIL)).kind).toBe('running');
    });

    test('reports the newest refusal when the user retries', async () => {
      const computer = await stoppedOnOtherMachine('license_expired');
      computer.service.answer['/v1/activate'] = () => problem(409, 'machine_limit_reached', 'stop');
      expect(await computer.client.heartbeatNow()).toMatchObject({
        kind: 'stopped',
        reason: 'machine_limit_reached',
      });
    });

    test('is activated on this machine only when the user retries', async () => {
      const computer = await stoppedOnOtherMachine('license_expired');
      expect(await computer.client.heartbeatNow()).toMatchObject({ kind: 'running' });
      expect(computer.service.callsTo('/v1/activate')).toHaveLength(1);
      expect(computer.service.heartbeats).toEqual([]);
    });
  });
});

describe('a client whose state file has the token of this machine', () => {
  test('starts without a call, and sends a heartbeat a few minutes later', async () => {
    const computer = await computerWith(MACHINE_ID);
    computer.service.calls = [];
    expect(await computer.restart()).toMatchObject({ kind: 'running' });
    expect(computer.service.calls).toEqual([]);
    await computer.advanceTime(10 * MINUTE);
    expect(computer.service.heartbeats).toHaveLength(1);
  });

  test('counts the seven days from the token’s iat if the file has no highest_seen, also with a clock that is a year behind', async () => {
    const computer = await computerWith(MACHINE_ID);
    await computer.client.close();
    const state = JSON.parse(await readFile(computer.stateFile, 'utf8')) as object;
    const time = { highest_seen: null, clock_ahead_seconds: 0 };
    await writeFile(computer.stateFile, JSON.stringify({ ...state, time }));
    computer.time.wall = START - 365 * DAY;
    computer.service.disconnect();
    expect(await computer.open()).toMatchObject({ kind: 'running' });
    await computer.advanceTime(7 * DAY - HOUR);
    expect(await computer.restart()).toMatchObject({ kind: 'running' });
    await computer.advanceTime(2 * HOUR);
    expect(await computer.restart()).toMatchObject({ kind: 'needs_network' });
  });
});
