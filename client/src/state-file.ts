import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { isObject, type Members } from './json.js';
import type { StoredTime } from './seen-time.js';
import type { CrashSignature } from './telemetry.js';
import { removeAbandoned, temporaryOf } from './temporary-file.js';
import { parseTime } from './time.js';

/** The license as it was activated, with the values of the last confirmation. */
export interface StoredLicense {
  license_key: string;
  email: string;
  hostname_hint: string | null;
  token: string;
  offline_until: string;
  expires_at: string | null;
}

/** The refusal that stopped the application. */
export interface StoredStop {
  code: string;
  detail: string;
  extras: Readonly<Record<string, unknown>>;
}

/** The highest manifest sequence seen with one key, and the SHA-256 (hex) of the signed bytes of that manifest. */
export interface SeenSequence {
  sequence: number;
  digest: string;
}

/** Reads and writes the state. */
export interface StateStorage {
  /** Never throws. @returns undefined if the state exists but cannot be read at the moment */
  read(): Promise<State | undefined>;
  /** Replaces the whole state, or throws and keeps the previous one. */
  write(state: State): Promise<void>;
}

const READ_ATTEMPTS = 5;
const READ_PAUSE_MS = 100;

type Log = (message: string) => void;
type Pause = () => Promise<unknown>;
const readPause: Pause = () => wait(READ_PAUSE_MS);

/** All data that the client stores, in one file. */
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
 * Reads the state. A missing or damaged file counts as an empty state; a damaged file is renamed to `<file>.broken` for
 * inspection. Never throws: a damaged disk must not crash the application.
 * @returns undefined if the file exists but cannot be read at the moment: it may contain a license and stays unchanged
 */
export async function readState(file: string, log: Log, pause = readPause): Promise<State | undefined> {
  await removeAbandoned(file);
  const text = await readWithRetries(file, pause);
  if (text === null) return emptyState();
  if (text === undefined) {
    log('the license state cannot be read at the moment: it will be read again');
    return undefined;
  }
  const state = parseState(text);
  if (state) return state;
  log('the license state is damaged and was kept aside');
  await rename(file, `${file}.broken`).catch(() => {});
  return emptyState();
}

/**
 * Retries, because a virus scanner or a backup may lock the file for a moment.
 * @returns null if there is no file, undefined if it stays unreadable
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

/** Writes the state so that a crash at any moment leaves the complete old or new state. Only the owner can read the file. */
export async function writeState(file: string, state: State): Promise<void> {
  const temporary = temporaryOf(file);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  try {
    const handle = await open(temporary, 'w', 0o600);
    try {
      await handle.chmod(0o600); // A file left by an earlier crash may have another mode.
      await handle.writeFile(JSON.stringify(state, null, 2) + '\n');
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true }); // It contains the license key.
    throw error;
  }
  await syncFolder(dirname(file));
}

/** Writes the rename to the disk. On a platform that cannot do this, the old state may return after a crash. */
async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder);
    await handle.sync().finally(() => handle.close());
  } catch {
    // Windows cannot open folders.
  }
}

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

function isLicense(value: unknown): value is StoredLicense {
  if (!isObject(value)) return false;
  const hasTexts = ['license_key', 'email', 'token'].every((name) => typeof value[name] === 'string');
  const { hostname_hint, offline_until, expires_at } = value;
  return (
    hasTexts &&
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
  const valid = Object.entries(value).filter(
    ([, seen]) =>
      isObject(seen) && Number.isSafeInteger(seen['sequence']) && typeof seen['digest'] === 'string',
  );
  return Object.fromEntries(valid) as Record<string, SeenSequence>;
}
