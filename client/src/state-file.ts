import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { emptyState, parseState, withChanges, type State } from './state.js';
import { removeAbandoned, temporaryOf } from './temporary-file.js';

/** Reads and writes the state. */
export interface StateStorage {
  /** Never throws. @returns undefined if the state exists but cannot be read at the moment */
  read(): Promise<State | undefined>;
  /**
   * Stores the changed members of the state, or throws and keeps the previous state. Another process may have changed the other
   * members since; `late` are the changed ones whose write failed before.
   */
  write(state: State, changed: ReadonlySet<keyof State>, late: ReadonlySet<keyof State>): Promise<void>;
}

const ATTEMPTS = 5;
const PAUSE_MS = 100;

type Log = (message: string) => void;
type Pause = () => Promise<unknown>;
const defaultPause: Pause = () => wait(PAUSE_MS);

export function fileStorage(path: string, log: Log): StateStorage {
  // The application may go to another folder later, as a dialog for files may do.
  const file = resolve(path);
  return {
    read: () => readState(file, log),
    write: async (state, changed, late) => {
      const text = await readText(file, defaultPause);
      // A file that cannot be read may contain a license of another process, so only a confirmed license may replace it.
      if (text === undefined && !changed.has('license')) throw new Error('the stored state cannot be read');
      const stored = parseState(text ?? '');
      await writeState(file, stored ? withChanges(stored, state, changed, late) : state);
    },
  };
}

/**
 * Reads the state. A missing or damaged file counts as an empty state; a damaged file is renamed to `<file>.broken` for
 * inspection. Never throws: a damaged disk must not crash the application.
 * @returns undefined if the file exists but cannot be read at the moment: it may contain a license and stays unchanged
 */
export async function readState(file: string, log: Log, pause = defaultPause): Promise<State | undefined> {
  await removeAbandoned(file);
  const text = await readText(file, pause);
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

/** @returns null if there is no file, undefined if it stays unreadable */
async function readText(file: string, pause: Pause): Promise<string | null | undefined> {
  try {
    return await withRetries(() => readFile(file, 'utf8'), pause);
  } catch (error) {
    return isMissing(error) ? null : undefined;
  }
}

/** Retries, because a virus scanner or a backup may lock a file for a moment. @throws the last error */
async function withRetries<T>(access: () => Promise<T>, pause: Pause): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await access();
    } catch (error) {
      if (isMissing(error) || attempt === ATTEMPTS) throw error;
      await pause();
    }
  }
}

const isMissing = (error: unknown) => (error as NodeJS.ErrnoException).code === 'ENOENT';

/** Writes the state so that a crash at any moment leaves the complete old or new state. Only the owner can read the file. */
export async function writeState(file: string, state: State, pause = defaultPause): Promise<void> {
  const temporary = temporaryOf(file);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  try {
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(JSON.stringify(state, null, 2) + '\n');
      await handle.sync();
    } finally {
      await handle.close();
    }
    await withRetries(() => rename(temporary, file), pause);
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
