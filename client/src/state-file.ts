import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { StoredTime } from './seen-time.js';
import type { CrashSignature } from './telemetry.js';
import { parseTime } from './time.js';

export interface StoredLicense {
  license_key: string;
  email: string;
  hostname_hint: string | null;
  token: string;
  offline_until: string;
  expires_at: string | null;
}

export interface StoredStop {
  code: string;
  detail: string;
  extras: Readonly<Record<string, unknown>>;
}

/** The highest manifest sequence seen under one key, and which bytes had it. */
export interface SeenSequence {
  sequence: number;
  digest: string;
}

/** Where the state is kept. */
export interface StateStorage {
  /** Never throws. @returns undefined where there is a state that cannot be read just now */
  read(): Promise<State | undefined>;
  /** Replaces the state as a whole, or throws and leaves the one before. */
  write(state: State): Promise<void>;
}

const READ_ATTEMPTS = 5;
const READ_PAUSE_MS = 100;

type Log = (message: string) => void;
type Pause = () => Promise<unknown>;
const readPause: Pause = () => wait(READ_PAUSE_MS);

/** All that the client remembers, in one file. */
export interface State {
  version: 1;
  license: StoredLicense | null;
  stopped: StoredStop | null;
  time: StoredTime;
  crash: CrashSignature | null;
  sequences: Record<string, SeenSequence>;
}

export function emptyState(): State {
  return {
    version: 1,
    license: null,
    stopped: null,
    time: { highest_seen: null, clock_ahead_seconds: 0 },
    crash: null,
    sequences: {},
  };
}

export function fileStorage(file: string, log: Log): StateStorage {
  return { read: () => readState(file, log), write: (state) => writeState(file, state) };
}

/**
 * Reads the state. A missing file is an empty state; a broken one too, and it is kept aside as `<file>.broken` for
 * inspection. Never throws: a damaged disk must not crash the application.
 * @returns undefined where the file is there and cannot be read just now: it may hold a license, and stays as it is
 */
export async function readState(file: string, log: Log, pause = readPause): Promise<State | undefined> {
  const text = await readWithRetries(file, pause);
  if (text === null) return emptyState();
  if (text === undefined) {
    log('the license state cannot be read just now');
    return undefined;
  }
  const state = parseState(text);
  if (state) return state;
  log('the license state is damaged and was kept aside');
  await rename(file, `${file}.broken`).catch(() => {});
  return emptyState();
}

/**
 * A virus scanner or a backup may hold the file for a moment, and a paid license must not look lost because of that.
 * Null where there is no file, undefined where it stays unreadable.
 */
async function readWithRetries(file: string, pause: Pause): Promise<string | null | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await readFile(file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      if (attempt === READ_ATTEMPTS) return undefined;
      await pause();
    }
  }
}

/** Writes the state so that a crash at any moment leaves the old one or the new one, whole, and for its owner only. */
export async function writeState(file: string, state: State): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const handle = await open(temporary, 'w', 0o600);
  try {
    // A leftover of an earlier crash may have had another mode.
    await handle.chmod(0o600);
    await handle.writeFile(JSON.stringify(state, null, 2) + '\n');
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, file).catch(async (error: unknown) => {
    // It holds the license key: no copy stays behind.
    await rm(temporary);
    throw error;
  });
  await syncFolder(dirname(file));
}

/** The rename itself must reach the disk; not every platform can do that, and then the old state is still whole. */
async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder);
    await handle.sync().finally(() => handle.close());
  } catch {
    // Windows opens no folders.
  }
}

type Members = Record<string, unknown>;

function parseState(text: string): State | undefined {
  let value: Members;
  try {
    value = JSON.parse(text) as Members;
  } catch {
    return undefined;
  }
  if (!isObject(value) || value['version'] !== 1) return undefined;
  const { license = null, stopped = null, time, crash = null, sequences } = value;
  if (license !== null && !isLicense(license)) return undefined;
  if (stopped !== null && !isStop(stopped)) return undefined;
  return {
    version: 1,
    license,
    stopped,
    time: isTime(time) ? time : emptyState().time,
    crash: isObject(crash) ? (crash as CrashSignature) : null,
    sequences: isObject(sequences) ? sequencesOf(sequences) : {},
  };
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isLicense(value: unknown): value is StoredLicense {
  if (!isObject(value)) return false;
  const texts = ['license_key', 'email', 'token'].every((name) => typeof value[name] === 'string');
  const { hostname_hint, offline_until, expires_at } = value;
  return (
    texts &&
    (hostname_hint === null || typeof hostname_hint === 'string') &&
    isInstant(offline_until) &&
    (expires_at === null || isInstant(expires_at))
  );
}

function isStop(value: unknown): value is StoredStop {
  return (
    isObject(value) &&
    typeof value['code'] === 'string' &&
    typeof value['detail'] === 'string' &&
    isObject(value['extras'])
  );
}

function isTime(value: unknown): value is StoredTime {
  if (!isObject(value) || !Number.isFinite(value['clock_ahead_seconds'])) return false;
  return value['highest_seen'] === null || isInstant(value['highest_seen']);
}

function isInstant(value: unknown): value is string {
  return parseTime(value) !== undefined;
}

function sequencesOf(value: Members): Record<string, SeenSequence> {
  const sound = Object.entries(value).filter(
    ([, seen]) =>
      isObject(seen) && Number.isSafeInteger(seen['sequence']) && typeof seen['digest'] === 'string',
  );
  return Object.fromEntries(sound) as Record<string, SeenSequence>;
}
