import { describe, expect, test } from '@jest/globals';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import {
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  utimes,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { emptyState, type State } from '../../client/src/state.js';
import { fileStorage, readState, writeState } from '../../client/src/state-file.js';
import { MooringClient } from '../../client/src/client.js';
import { Store } from '../../client/src/store.js';
import { temporaryFolder } from '../support/folders.js';
import { at, DAY, Computer, EMAIL, HOUR, KEY, MINUTE, problem } from './harness.js';

const noLog = () => {};

function stateWith(token: string): State {
  const license = { license_key: KEY, email: EMAIL, hostname_hint: null, token, expires_at: null };
  return { ...emptyState(), license: { ...license, offline_until: '2026-11-27T13:00:00Z' } };
}

/** Moves the file aside. The folder in its place can be neither read nor replaced. @returns a function that undoes this */
async function lockFile(file: string): Promise<() => Promise<void>> {
  await rename(file, `${file}.aside`);
  await mkdir(file);
  return async () => {
    await rmdir(file);
    await rename(`${file}.aside`, file);
  };
}

describe('the state file', () => {
  test('is read back as it was written, and only its owner may read it', async () => {
    const file = join(temporaryFolder(), 'deep', 'license.json');
    await writeState(file, stateWith('one'));
    expect(await readState(file, noLog)).toEqual(stateWith('one'));
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  test('with a relative path stays where it was, although the application goes to another folder', async () => {
    const [folder, other, before] = [temporaryFolder(), temporaryFolder(), process.cwd()];
    try {
      process.chdir(folder);
      const files = fileStorage('license.json', noLog);
      process.chdir(other);
      await files.write(stateWith('one'), new Set(['license']), new Set());
      expect(await files.read()).toEqual(stateWith('one'));
    } finally {
      process.chdir(before);
    }
    expect([await readdir(folder), await readdir(other)]).toEqual([['license.json'], []]);
  });

  test('is complete after two writes at once by processes with one id, as in two containers', async () => {
    const file = join(temporaryFolder(), 'license.json');
    for (let round = 0; round < 50; round += 1) {
      const states = [stateWith('short'), stateWith('a key that is much longer')];
      await Promise.all(states.map((state) => writeState(file, state)));
      expect(states).toContainEqual(await readState(file, noLog));
    }
  });

  test('leaves no temporary file, which would contain the license key, if it cannot be written', async () => {
    const folder = temporaryFolder();
    const unwritable = { ...stateWith('one'), toJSON: () => assert.fail('disk full') };
    await expect(writeState(join(folder, 'license.json'), unwritable)).rejects.toThrow('disk full');
    expect(await readdir(folder)).toEqual([]);
  });

  test('is read, and the temporary files of killed processes are deleted, because they contain the license key', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'license.json');
    await writeState(file, stateWith('one'));
    const ended = spawn(process.execPath, ['-e', '']);
    await new Promise((resolve) => ended.once('exit', resolve));
    // Files of this process are kept, because it runs and may be writing. The others are not temporary files of the state.
    const own = [`${process.pid}-0123abcd.tmp`, `${process.pid}.tmp`];
    const kept = [...own, `${ended.pid}.tmp.txt`, `x${ended.pid}.tmp`, 'tmp'];
    // Earlier versions of the client gave a temporary file a name of the second form.
    for (const end of [`${ended.pid}-0123abcd.tmp`, `${ended.pid}.tmp`, ...kept])
      await writeFile(`${file}.${end}`, 'half');
    expect(await readState(file, noLog)).toEqual(stateWith('one'));
    const names = ['license.json', ...kept.map((end) => `license.json.${end}`)];
    expect(new Set(await readdir(folder))).toEqual(new Set(names));
  });

  test('is read, and an old temporary file is deleted although a process with its id runs, as in a container', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'license.json');
    await writeState(file, stateWith('one'));
    const left = `${file}.${process.pid}-0123abcd.tmp`;
    await writeFile(left, 'half');
    const twoHoursAgo = Date.now() / 1000 - 7_200;
    await utimes(left, twoHoursAgo, twoHoursAgo);
    expect(await readState(file, noLog)).toEqual(stateWith('one'));
    expect(await readdir(folder)).toEqual(['license.json']);
  });

  const testOfDescriptors = existsSync('/proc/self/fd') ? test : test.skip;
  testOfDescriptors('is closed once it is written, and so is its folder', async () => {
    const ownFolder = await realpath(temporaryFolder());
    await writeState(join(ownFolder, 'license.json'), stateWith('one'));
    const descriptors = await readdir('/proc/self/fd');
    const paths = await Promise.all(
      descriptors.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => 'closed')),
    );
    expect(paths.filter((path) => path.startsWith(ownFolder))).toEqual([]);
  });

  test('that is missing is an empty state', async () => {
    const log: string[] = [];
    const state = await readState(join(temporaryFolder(), 'none.json'), (line) => log.push(line));
    expect(state).toEqual(emptyState());
    expect(log).toEqual([]);
  });

  test.each([
    ['cut in the middle', JSON.stringify(stateWith('one')).slice(0, 80)],
    ['empty', ''],
    ['no object', '[]'],
    ['of another version', '{"version":2}'],
    [
      'a license without a token',
      JSON.stringify({ ...stateWith('x'), license: { license_key: KEY, email: EMAIL } }),
    ],
    ['a license with an empty token', JSON.stringify(stateWith(''))],
    ['a token longer than the service issues', JSON.stringify(stateWith('x'.repeat(2049)))],
    ['binary', '\0\0\0\0'],
  ])('that is damaged (%s) is an empty state, and is renamed to .broken', async (_, text) => {
    const file = join(temporaryFolder(), 'license.json');
    await writeFile(file, text);
    const log: string[] = [];
    expect(await readState(file, (line) => log.push(line))).toEqual(emptyState());
    expect(await readFile(`${file}.broken`, 'utf8')).toBe(text);
    expect(log).toEqual(['the license state is damaged and was kept aside']);
  });

  test('that another program locks for a moment is read after that, in at most five attempts', async () => {
    const file = join(temporaryFolder(), 'license.json');
    // A folder in its place cannot be read, like a locked file.
    await mkdir(file);
    let pauses = 0;
    const pauseUntil = (last: number) => async () => {
      if ((pauses += 1) !== last) return;
      await rmdir(file);
      await writeState(file, stateWith('one'));
    };
    expect(await readState(file, noLog, pauseUntil(Infinity))).toBeUndefined();
    expect(pauses).toBe(4);
    pauses = 0;
    expect(await readState(file, noLog, pauseUntil(4))).toEqual(stateWith('one'));
  });

  test('that another program locks for a moment is written after that, in at most five attempts', async () => {
    const file = join(temporaryFolder(), 'license.json');
    // A folder in its place cannot be replaced, like a locked file.
    await mkdir(file);
    let pauses = 0;
    const pauseUntil = (last: number) => async () => {
      if ((pauses += 1) === last) await rmdir(file);
    };
    await expect(writeState(file, stateWith('one'), pauseUntil(Infinity))).rejects.toThrow('EISDIR');
    expect(pauses).toBe(4);
    expect(await readdir(dirname(file))).toEqual(['license.json']);
    pauses = 0;
    await writeState(file, stateWith('one'), pauseUntil(4));
    expect(await readState(file, noLog)).toEqual(stateWith('one'));
  });

  test('that could not be read is not changed until it is read again or a new license replaces it', async () => {
    const file = join(temporaryFolder(), 'license.json');
    // A folder in its place cannot be read, also by root.
    await mkdir(file);
    const log: string[] = [];
    const addLine = (line: string) => void log.push(line);
    const store = new Store(fileStorage(file, addLine), addLine);
    const began = performance.now();
    await store.load();
    // The client waits four times 100 ms for a program that has locked the file.
    expect(performance.now() - began).toBeGreaterThan(390);
    expect(store.state).toEqual(emptyState());
    await store.save({ sequences: { key: { sequence: 2, digest: 'd' } } });
    expect(log).toEqual(['the license state cannot be read at the moment: it will be read again']);
    expect((await stat(file)).isDirectory()).toBe(true);
    await rmdir(file);
    await writeState(file, stateWith('one'));
    await store.save({ crash: null });
    expect((await readState(file, noLog))?.license?.token).toBe('one');
    await store.save({ license: stateWith('two').license });
    expect((await readState(file, noLog))?.license?.token).toBe('two');
  });

  test('is complete after a process that writes it is killed', async () => {
    const file = join(temporaryFolder(), 'license.json');
    const module = pathToFileURL(join(process.cwd(), 'client/src/state-file.ts')).href;
    const license = JSON.stringify(stateWith('t'.repeat(2000)));
    // The child runs the sources: where they import a .js file, there is a .ts file.
    const script = `import { registerHooks } from 'node:module';
      registerHooks({ resolve: (name, context, next) => next(name.replace(/^(\\..*)\\.js$/, '$1.ts'), context) });
      const { writeState } = await import(${JSON.stringify(module)});
      for (;;) { await writeState(${JSON.stringify(file)}, ${license}); process.stdout.write('.'); }`;
    for (let round = 0; round < 5; round++) {
      const child = spawn(process.execPath, [
        '--experimental-strip-types',
        '--input-type=module',
        '-e',
        script,
      ]);
      const ended = new Promise((resolve) => child.once('exit', resolve));
      const written = new Promise((resolve) => child.stdout.once('data', () => resolve('written')));
      expect(await Promise.race([written, ended])).toBe('written');
      await wait(3 + round * 7);
      child.kill('SIGKILL');
      await ended;
      const log: string[] = [];
      expect((await readState(file, (line) => log.push(line)))?.license?.token).toHaveLength(2000);
      expect(log).toEqual([]);
      expect(await readdir(dirname(file))).toEqual(['license.json']);
    }
  });

  test('that is damaged makes an activated application not activated, and does not crash it', async () => {
    const computer = await Computer.activated();
    await computer.client.close();
    await writeFile(computer.stateFile, '{"version":1,"license":{');
    expect(await computer.open()).toEqual({ kind: 'not_activated' });
    expect(await readdir(computer.folder)).toContain('license.json.broken');
    expect((await computer.client.activate(KEY, EMAIL)).kind).toBe('running');
  });

  test('is not created by an application that was never activated', async () => {
    const computer = await Computer.opened();
    await computer.advanceTime(DAY);
    await computer.client.close();
    expect(await readdir(computer.folder)).toEqual([]);
  });

  test('that cannot be written does not stop the application', async () => {
    const computer = await Computer.make();
    await writeFile(join(computer.folder, 'file'), '');
    await computer.open({ stateFile: join(computer.folder, 'file', 'license.json') });
    expect((await computer.client.activate(KEY, EMAIL)).kind).toBe('running');
    expect(computer.log).toContain('the license state could not be written');
  });
});

test('a sleep of the computer during the write of a confirmed heartbeat is not taken for a clock that is ahead', async () => {
  const computer = await Computer.activated();
  await computer.client.reportCrash({ crash_kind: 'native' });
  const files = fileStorage(computer.stateFile, noLog);
  const [begun, awake] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isSlow = false;
  const write: typeof files.write = async (state, changed, late) => {
    if (isSlow) {
      begun.resolve();
      await awake.promise;
    }
    await files.write(state, changed, late);
  };
  await computer.restart({ storage: { ...files, write } });
  isSlow = true;
  const heartbeat = computer.client.heartbeatNow();
  await begun.promise;
  computer.time.wall += DAY;
  awake.resolve();
  await heartbeat;
  await computer.client.close();
  expect((await readState(computer.stateFile, noLog))?.time.clock_ahead_seconds).toBe(0);
});

test('a license whose file could not be read is used when the client is started again and can read it', async () => {
  const file = join(temporaryFolder(), 'license.json');
  await mkdir(file);
  const client = new MooringClient({
    baseUrl: 'http://127.0.0.1:1',
    app: 'EXAMPLE',
    product: 'com.example.app',
    appVersion: '1.0.0',
    trustedKeys: [],
    stateFile: file,
    environment: {},
    fetch: () => Promise.reject(new TypeError('no network')),
    log: noLog,
  });
  expect((await client.start()).kind).toBe('not_activated');
  await rmdir(file);
  const { license, ...state } = stateWith('one');
  const offline_until = new Date(Date.now() + 3_600_000).toISOString();
  await writeState(file, { ...state, license: { ...license!, offline_until } });
  expect((await client.start()).kind).toBe('running');
  await client.close();
  expect((await readState(file, noLog))?.license?.token).toBe('one');
});

describe('a state that can be neither read nor written', () => {
  const storage = {
    read: async () => undefined,
    write: () => Promise.reject(new Error('the file is locked')),
  };

  test('does not undo an activation of this run', async () => {
    const computer = await Computer.opened({ storage });
    expect((await computer.client.activate(KEY, EMAIL)).kind).toBe('running');
    await computer.advanceTime(HOUR);
    expect(computer.client.status.kind).toBe('running');
    expect(computer.states.map(({ kind }) => kind)).toEqual(['not_activated', 'running']);
  });

  test('does not replace an activation of this run once it can be read', async () => {
    const computer = await Computer.make();
    let isLocked = true;
    await computer.open({ storage: { ...storage, read: async () => (isLocked ? undefined : emptyState()) } });
    await computer.client.activate(KEY, EMAIL);
    isLocked = false;
    await computer.advanceTime(HOUR);
    expect(await computer.client.start()).toMatchObject({ kind: 'running' });
    expect(computer.states.map(({ kind }) => kind)).toEqual(['not_activated', 'running']);
  });

  test('does not prevent reading the manifest', async () => {
    const computer = await Computer.opened({ storage });
    await computer.advanceTime(HOUR);
    expect(computer.service.callsTo('/v1/manifest')).toHaveLength(1);
  });

  test('is read again every 30 seconds until it can be read', async () => {
    const computer = await Computer.make();
    let reads = 0;
    const read = async () => ((reads += 1) < 3 ? undefined : stateWith('one'));
    await computer.open({ storage: { ...storage, read } });
    await computer.advanceTime(59_000);
    expect(computer.client.status).toEqual({ kind: 'not_activated' });
    await computer.advanceTime(1_000);
    expect(computer.client.status).toMatchObject({ kind: 'running' });
    await computer.advanceTime(MINUTE);
    expect(reads).toBe(3);
  });

  test('is not read again after the client is closed', async () => {
    const computer = await Computer.opened({ storage });
    await computer.client.close();
    expect(computer.time.pending.size).toBe(0);
  });
});

describe('two processes of one application', () => {
  test('the one that was started before the activation does not delete the license', async () => {
    const computer = await Computer.opened();
    const first = computer.client;
    await computer.open();
    await computer.client.activate(KEY, EMAIL);
    await computer.client.close();
    await first.reportCrash({ crash_kind: 'native' });
    await first.close();
    computer.service.disconnect();
    expect((await computer.open()).kind).toBe('running');
  });

  test('a stop that ended with a confirmation of the other one does not return', async () => {
    const computer = await Computer.activated();
    const first = computer.client;
    await computer.open();
    const confirm = computer.service.answer['/v1/heartbeat']!;
    computer.service.answer['/v1/heartbeat'] = () => problem(403, 'license_suspended', 'stop');
    expect((await first.heartbeatNow()).kind).toBe('stopped');
    computer.service.answer['/v1/heartbeat'] = confirm;
    expect((await computer.client.heartbeatNow()).kind).toBe('running');
    await computer.client.close();
    await first.reportCrash({ crash_kind: 'native' });
    await first.close();
    computer.service.disconnect();
    expect((await computer.open()).kind).toBe('running');
  });

  test('a stop whose write failed does not return after the other one was confirmed', async () => {
    const computer = await Computer.activated();
    const first = computer.client;
    await computer.open();
    const unlock = await lockFile(computer.stateFile);
    const confirm = computer.service.answer['/v1/heartbeat']!;
    computer.service.answer['/v1/heartbeat'] = () => problem(403, 'license_suspended', 'stop');
    expect((await first.heartbeatNow()).kind).toBe('stopped');
    await unlock();
    computer.service.answer['/v1/heartbeat'] = confirm;
    computer.time.wall += HOUR;
    expect((await computer.client.heartbeatNow()).kind).toBe('running');
    await computer.client.close();
    await first.close();
    computer.service.disconnect();
    expect((await computer.open()).kind).toBe('running');
  });

  test('a stop whose write failed is written later if no process was confirmed since', async () => {
    const computer = await Computer.activated();
    const unlock = await lockFile(computer.stateFile);
    computer.service.answer['/v1/heartbeat'] = () => problem(403, 'license_suspended', 'stop');
    await computer.client.heartbeatNow();
    await unlock();
    await computer.client.close();
    computer.service.disconnect();
    expect((await computer.open()).kind).toBe('stopped');
  });

  test('a new stop is written although the other process has a later confirmation than this process', async () => {
    const computer = await Computer.activated();
    const first = computer.client;
    await computer.open();
    computer.time.wall += HOUR;
    await computer.client.heartbeatNow();
    await computer.client.close();
    computer.service.answer['/v1/heartbeat'] = () => problem(403, 'license_suspended', 'stop');
    await first.heartbeatNow();
    await first.close();
    computer.service.disconnect();
    expect((await computer.open()).kind).toBe('stopped');
  });

  test('a confirmation whose write failed does not replace a later one, and a crash whose write failed is written', async () => {
    const computer = await Computer.activated();
    const first = computer.client;
    await computer.open();
    const unlock = await lockFile(computer.stateFile);
    await first.heartbeatNow();
    await first.reportCrash({ crash_kind: 'native' });
    await unlock();
    computer.time.wall += HOUR;
    await computer.client.heartbeatNow();
    await computer.client.close();
    await first.close();
    expect(await readState(computer.stateFile, noLog)).toMatchObject({
      license: { token: 'token-3' },
      crash: { crash_kind: 'native' },
    });
  });

  test('a new confirmation replaces one with a later end, which a service with a wrong clock has sent', async () => {
    const computer = await Computer.activated();
    const first = computer.client;
    await computer.open();
    computer.service.offset = DAY;
    await computer.client.heartbeatNow();
    await computer.client.close();
    computer.service.offset = 0;
    await first.heartbeatNow();
    await first.close();
    expect(await readState(computer.stateFile, noLog)).toMatchObject({
      license: { token: 'token-3' },
      time: { highest_seen: at(computer.time.wall) },
    });
  });

  test('a process that could not be confirmed keeps the clock values that the confirmation of the other process has stored', async () => {
    const computer = await Computer.activated();
    const first = computer.client;
    await computer.open();
    // An hour later the clock is a year ahead, and stays so.
    computer.time.wall += 365 * DAY + HOUR;
    computer.service.offset = -365 * DAY;
    await computer.client.heartbeatNow();
    computer.service.disconnect();
    await first.heartbeatNow();
    await computer.client.close();
    await first.close();
    computer.time.wall += HOUR;
    expect((await computer.open()).kind).toBe('running');
  });

  test('a stop of the license that the other one has replaced does not stop the new license', async () => {
    const computer = await Computer.activated();
    const first = computer.client;
    await computer.open();
    await computer.client.activate('MOOR_0000-0000-0000-0000', EMAIL);
    await computer.client.close();
    computer.service.answer['/v1/heartbeat'] = () => problem(403, 'license_expired', 'stop');
    expect((await first.heartbeatNow()).kind).toBe('stopped');
    await first.close();
    computer.service.disconnect();
    expect((await computer.open()).kind).toBe('running');
  });

  test('each keeps what the other one wrote, and the higher sequence of each key', async () => {
    const file = join(temporaryFolder(), 'license.json');
    const seen = (sequence: number, digest: string) => ({ sequence, digest });
    const [first, second] = [1, 2].map(() => new Store(fileStorage(file, noLog), noLog)) as [Store, Store];
    await first.save({ license: stateWith('one').license, sequences: { a: seen(9, 'x'), b: seen(1, 'x') } });
    await second.save({ sequences: { a: seen(8, 'y'), b: seen(2, 'y') } });
    await first.save({ crash: { crash_kind: 'native' } });
    expect(await readState(file, noLog)).toEqual({
      ...stateWith('one'),
      crash: { crash_kind: 'native' },
      sequences: { a: seen(9, 'x'), b: seen(2, 'y') },
    });
  });

  test('a file that cannot be read for a moment keeps what the other one wrote, unless there is a new license', async () => {
    const file = join(temporaryFolder(), 'license.json');
    const log: string[] = [];
    const store = new Store(fileStorage(file, noLog), (line) => log.push(line));
    await store.load();
    // A link to itself cannot be read, also by root, but it can be replaced, like a file that another program has opened.
    await symlink(file, file);
    await store.save({ sequences: { a: { sequence: 9, digest: 'x' } } });
    expect((await lstat(file)).isSymbolicLink()).toBe(true);
    expect(log).toEqual(['the license state could not be written']);
    await rm(file);
    await writeState(file, stateWith('one'));
    await store.save({ crash: { crash_kind: 'native' } });
    expect(await readState(file, noLog)).toEqual({
      ...stateWith('one'),
      crash: { crash_kind: 'native' },
      sequences: { a: { sequence: 9, digest: 'x' } },
    });
    await rm(file);
    await symlink(file, file);
    await store.save({ license: stateWith('two').license });
    expect((await readState(file, noLog))?.license?.token).toBe('two');
  });

  test('a license that was lost because both wrote in the same moment is written again', async () => {
    const file = join(temporaryFolder(), 'license.json');
    const store = new Store(fileStorage(file, noLog), noLog);
    await store.save({ license: stateWith('one').license });
    await writeState(file, { ...emptyState(), crash: { crash_kind: 'native' } });
    await store.save({ time: emptyState().time });
    expect(await readState(file, noLog)).toEqual({ ...stateWith('one'), crash: { crash_kind: 'native' } });
  });

  test('a damaged file is replaced as a whole', async () => {
    const file = join(temporaryFolder(), 'license.json');
    const store = new Store(fileStorage(file, noLog), noLog);
    await store.save({ license: stateWith('one').license });
    await writeFile(file, '{"version":1,"license":{');
    await store.save({ crash: null });
    expect(await readState(file, noLog)).toEqual(stateWith('one'));
  });
});

test('a sequence that was saved while the state could not be read is kept if it is higher than the stored one', async () => {
  const seen = (sequence: number, digest: string) => ({ sequence, digest });
  const stored = {
    ...emptyState(),
    sequences: { lower: seen(5, 'a'), same: seen(5, 'a'), higher: seen(5, 'a') },
  };
  const written: State[] = [];
  const storage = {
    read: () => Promise.resolve(reads.shift()),
    write: async (state: State) => void written.push(state),
  };
  const reads = [undefined, stored];
  const store = new Store(storage, noLog);
  await store.load();
  expect(store.isUnread).toBe(true);
  const sequences = { lower: seen(4, 'b'), same: seen(5, 'b'), higher: seen(6, 'b'), fresh: seen(0, 'b') };
  await store.save({ sequences });
  expect(written).toEqual([]);
  await store.load();
  expect(store.isUnread).toBe(false);
  expect(store.state.sequences).toEqual({
    lower: seen(5, 'a'),
    same: seen(5, 'a'),
    higher: seen(6, 'b'),
    fresh: seen(0, 'b'),
  });
  await store.save({ crash: null });
  expect(written).toEqual([store.state]);
});
