import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { generateKeyPairSync } from 'node:crypto';
import { basename } from 'node:path';
import { rfc3339 } from '../../src/core/clock.js';
import { thumbprint } from '../../src/keys/ed25519/ed25519.js';
import { KeyRing } from '../../src/keys/tokens/key-ring.js';
import {
  signLicenseToken,
  verifyLicenseToken,
  type LicenseClaims,
} from '../../src/keys/tokens/license-token.js';
import type { KeyState, RingEntry } from '../../src/keys/tokens/ring-file.js';
import { runs } from '../fuzz/fuzz.js';
import { releaseAll, releaseQueued } from '../support/interleavings.js';
import { ONLY_INTERVALS } from '../support/only-intervals.js';

const START = Date.parse('2026-11-20T13:00:00Z');
const PRODUCT = 'com.example.app';
const CLAIMS: LicenseClaims = {
  iss: 'mooring',
  aud: PRODUCT,
  sub: '0198f3c2-7b1a-4c3d-9e4f-a1b2c3d4e5f6',
  lic: '0198f3c2-7b1a-4c3d-9e4f-a1b2c3d4e5f7',
  mch: 'machine',
  lxp: null,
  iat: START / 1000,
  exp: START / 1000 + 7 * 86_400,
};
/** The interval at which a watcher reloads the ring. */
const RELOAD_MS = 2_000;

/**
 * The keys in the order in which a directory creates them: two at the start, one for each rotation or revocation of the active
 * key in a plan, of which there are at most 14, and one for the rotation at the end of the test.
 */
const KEYS = Array.from({ length: 17 }, () => {
  const { privateKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  const kid = thumbprint(privateKey);
  const header = Buffer.from(JSON.stringify({ alg: 'Ed25519', kid, typ: 'license+jwt' })).toString(
    'base64url',
  );
  return { kid, pem, header };
});

const CHANGES = ['rotate', 'revoke the active key', 'revoke a verifying key', 'break ring.json'] as const;
const CALLS = ['reload', 'sign'] as const;
type Command = (typeof CHANGES)[number] | (typeof CALLS)[number];

const PLAN = fc.record({
  commands: fc.array(
    fc.oneof(
      { weight: 4, arbitrary: fc.constant<Command>('reload') },
      { weight: 1, arbitrary: fc.constant<Command>('sign') },
      { weight: 3, arbitrary: fc.constantFrom<Command>(...CHANGES) },
    ),
    { minLength: 4, maxLength: 14 },
  ),
  failures: fc.array(
    fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
    { minLength: 1, maxLength: 20 },
  ),
});

/** The directory of a ring, in memory. A read returns the files as they were when it was called, but resolves later. */
class KeyDirectory {
  readonly #files = new Map<string, string>();
  /** What each ring.json lists, undefined where it is broken. */
  readonly versions: (RingEntry[] | undefined)[] = [];
  /** The number of events that may make a running reload fail. */
  faults = 0;
  /** Reads of ring.json that have begun and not ended. */
  ringReads = 0;
  /** Called when a read of ring.json begins. */
  onRingRead = () => {};
  #entries: RingEntry[] = [];
  #reads = 0;
  #made = 0;

  /** Whether each read fails, in the order of the reads. The list repeats from its first entry. */
  failures = [false];

  constructor(private readonly scheduler: fc.Scheduler) {
    this.#write([this.#create('active'), this.#create('next')]);
  }

  read = async (path: string): Promise<string> => {
    const name = basename(path);
    const text = this.#files.get(name);
    const isFailing = this.failures[this.#reads++ % this.failures.length]!;
    const isRing = name === 'ring.json';
    if (isRing) this.onRingRead();
    this.ringReads += Number(isRing);
    await this.scheduler.schedule(Promise.resolve(), `read ${name}`);
    this.ringReads -= Number(isRing);
    if (isFailing || text === undefined) {
      this.faults += 1;
      throw new Error('the file cannot be read');
    }
    return text;
  };

  get version(): number {
    return this.versions.length - 1;
  }

  change(command: Command): void {
    if (command === 'break ring.json') this.#breakRing();
    else if (command === 'rotate') this.#promote('verifying');
    else if (command === 'revoke the active key') this.#promote('revoked');
    else this.#write(this.#withState(this.#keyIn('verifying'), 'revoked'));
  }

  #promote(oldActive: KeyState): void {
    this.#entries = this.#withState(this.#keyIn('active'), oldActive);
    this.#write([...this.#withState(this.#keyIn('next'), 'active'), this.#create('next')]);
  }

  #keyIn(state: KeyState): RingEntry | undefined {
    return this.#entries.find((entry) => entry.state === state);
  }

  #withState(which: RingEntry | undefined, state: KeyState): RingEntry[] {
    // The operator deletes the file of a revoked key at once.
    if (which && state === 'revoked') this.#files.delete(which.file);
    return this.#entries.map((entry) => (entry === which ? { ...entry, state } : entry));
  }

  #create(state: KeyState): RingEntry {
    const { kid, pem } = KEYS[this.#made++]!;
    this.#files.set(`${kid}.pem`, pem);
    return { kid, file: `${kid}.pem`, state, since: '' };
  }

  /** Each version is unique, also after a repair: the `since` of its keys encodes the number of the version. */
  #write(entries: RingEntry[]): void {
    const since = new Date(START + this.versions.length * 1_000).toISOString();
    this.#entries = entries.map((entry) => ({ ...entry, since }));
    this.#files.set('ring.json', JSON.stringify({ keys: this.#entries }));
    this.versions.push(this.#entries);
    // A reload that read the previous ring.json may miss the file of a key.
    this.faults += 1;
  }

  #breakRing(): void {
    this.#files.set('ring.json', `{"keys": ${this.versions.length}`);
    this.versions.push(undefined);
    this.faults += 1;
  }
}

/** Compares a ring with the versions of its directory, at every step of the scheduler. */
class RingObserver {
  #inUse = 0;

  constructor(
    readonly ring: KeyRing,
    private readonly directory: KeyDirectory,
  ) {}

  /** The ring is one version as a whole, and never goes back to an older one. @returns the version in use */
  check(): number {
    const { ring, directory } = this;
    const since = Date.parse(ring.keys[0]!.since);
    const version = (since - START) / 1_000;
    const entries = directory.versions[version]!;
    const expectedKeys = entries.map(({ kid, state }) => ({ kid, state, since: rfc3339(new Date(since)) }));
    expect(ring.keys).toEqual(expectedKeys);
    expect(ring.active.kid).toBe(entries.find(({ state }) => state === 'active')!.kid);
    const usable = entries.filter(({ state }) => state !== 'revoked').map(({ kid }) => kid);
    expect(ring.publishedKeys().map(({ kid }) => kid)).toEqual(usable);
    const known = KEYS.filter(({ header }) => ring.byHeader(header)).map(({ kid }) => kid);
    expect(new Set(known)).toEqual(new Set(usable));
    expect(version).toBeGreaterThanOrEqual(this.#inUse);
    this.#inUse = version;
    return version;
  }

  /** A reload that succeeds has read what was written before it began. A reload without a fault succeeds. */
  async reload(): Promise<void> {
    const { directory, ring } = this;
    const { version, faults } = directory;
    const isReadable = directory.versions[version] !== undefined;
    const isReloaded = await ring.reload().then(
      () => true,
      () => false,
    );
    const inUse = this.check();
    if (isReloaded) expect(inUse).toBeGreaterThanOrEqual(version);
    else expect(isReadable && faults === directory.faults).toBe(false);
  }

  /** A token stays valid after later rotations, unless the ring in use says that its key is revoked. */
  async sign(pause: () => Promise<void>): Promise<void> {
    const { ring, directory } = this;
    const key = ring.active;
    await pause();
    const token = signLicenseToken(key, CLAIMS);
    await pause();
    const { state } = directory.versions[this.check()]!.find(({ kid }) => kid === key.kid)!;
    expect(verifyLicenseToken(ring, PRODUCT, token)).toEqual(state === 'revoked' ? null : CLAIMS);
    expect(verifyLicenseToken(ring, PRODUCT, signLicenseToken(ring.active, CLAIMS))).toEqual(CLAIMS);
  }
}

/** Opens the ring of a new directory. From then on, reads fail as the plan says. */
async function openDirectory(
  scheduler: fc.Scheduler,
  failures: boolean[],
): Promise<[KeyDirectory, RingObserver]> {
  const directory = new KeyDirectory(scheduler);
  const ring = await releaseAll(scheduler, KeyRing.open('tokens', directory.read));
  directory.failures = failures;
  return [directory, new RingObserver(ring, directory)];
}

test('no order of reloads, changes of the ring and failing reads brings an older ring or a revoked key back', () =>
  fc.assert(
    fc.asyncProperty(fc.scheduler(), PLAN, async (scheduler, { commands, failures }) => {
      const [directory, observer] = await openDirectory(scheduler, failures);
      const pause = (label: string) => scheduler.schedule(Promise.resolve(), label);
      const work = commands.map(async (command) => {
        await pause(command);
        if (command === 'reload') await observer.reload();
        else if (command === 'sign') await observer.sign(() => pause('signing'));
        else directory.change(command);
      });
      // The callback checks the ring before each step of the scheduler. Its result is always true.
      await releaseAll(scheduler, Promise.all(work), () => observer.check() >= 0);
      // Once the files can be read again, one reload is enough.
      directory.failures = [false];
      directory.change('rotate');
      await releaseAll(scheduler, observer.reload());
      expect(observer.check()).toBe(directory.version);
    }),
    runs(200),
  ));

beforeEach(() => void jest.useFakeTimers(ONLY_INTERVALS));
afterEach(() => void jest.useRealTimers());

test('a watcher runs one reload at a time, reports each error once, and does nothing after it is stopped', () =>
  fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      PLAN,
      fc.integer({ min: 0, max: 20 }),
      async (scheduler, { commands, failures }, stopsAt) => {
        const [directory, observer] = await openDirectory(scheduler, failures);
        const { ring } = observer;
        let [lastReported, isStopped, isTicking] = [null as string | null, false, false];
        // Violations are collected, because an error thrown in a callback of the watcher would not fail the test: the watcher would
        // take one of `onRingRead` for a failed read, and one of the callback of `watch` would be an unhandled rejection.
        const violations: string[] = [];
        const stop = ring.watch(({ message }) => {
          if (isStopped) violations.push('an error was reported after the end');
          if (message === lastReported) violations.push('an error was reported twice');
          lastReported = message;
        });
        directory.onRingRead = () => {
          if (!isTicking) violations.push('a reload began without a tick of the timer');
          if (directory.ringReads > 0) violations.push('a reload began during another reload');
        };
        const tick = () => {
          isTicking = true;
          jest.advanceTimersByTime(RELOAD_MS);
        };
        // Checks the ring before each step of the scheduler. The result is always true.
        const checkStep = () => {
          isTicking = false;
          if (ring.lastError === null) lastReported = null;
          else if (!isStopped) expect(ring.lastError).toBe(lastReported);
          return observer.check() >= 0;
        };
        // The commands run twice, and change the directory only the first time: it has keys for a single plan.
        const work = [...commands, ...commands].map(async (command, index) => {
          await scheduler.schedule(Promise.resolve(), index === stopsAt ? 'stop' : command);
          if (index === stopsAt) {
            stop();
            isStopped = true;
          } else if (CALLS.some((call) => call === command)) tick();
          else if (index < commands.length) directory.change(command);
        });
        await releaseAll(scheduler, Promise.all(work), checkStep);

        await releaseQueued(scheduler);
        directory.failures = [false];
        directory.change('rotate');
        const before = observer.check();
        tick();
        await releaseQueued(scheduler);
        expect(observer.check()).toBe(isStopped ? before : directory.version);
        if (!isStopped) expect(ring.lastError).toBeNull();
        stop();
        expect(jest.getTimerCount()).toBe(0);
        expect(violations).toEqual([]);
      },
    ),
    runs(150),
  ));
