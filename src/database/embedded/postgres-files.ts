import { readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { tryKernelLock } from '../../core/kernel-lock.js';
import type { Postmaster } from './pid-file.js';

export type Files = ReturnType<typeof filesOf>;

/** Returns the paths of the files of the embedded PostgreSQL. The data directory must exist. */
export function filesOf(directory: string) {
  const dataDir = realpathSync(directory);
  return {
    dataDir,
    cluster: join(dataDir, 'postgres'),
    state: join(dataDir, 'postgres.json'),
    log: join(dataDir, 'postgres.log'),
    lock: join(dataDir, 'postgres.lock'),
  };
}

/** A running server. */
export interface RunningServer {
  url: string;
  /** The port of the service that owns the server; undefined if a command does. */
  servicePort?: number | undefined;
}

/** The content of `postgres.json`: the id of the process that owns the server, and the server unless it is starting or stopping. */
type State = { ownerPid: number } & Partial<RunningServer>;

export function readState(files: Files): State | null {
  try {
    return JSON.parse(readFileSync(files.state, 'utf8')) as State;
  } catch {
    return null; // The file is missing, because no process runs the server, or it is damaged: no server is known.
  }
}

/** Replaces `postgres.json`. A reader sees the old content or the new one. */
export function writeState(files: Files, state: State): void {
  writeFileSync(`${files.state}.new`, JSON.stringify(state), { mode: 0o600 });
  renameSync(`${files.state}.new`, files.state);
}

/** The name of the file with the password. It is in the folder of the cluster, because a copy of the cluster needs its password. */
export const PASSWORD_FILE = 'mooring.password';

/** Returns the URL of a database of the server, with its password. */
export function urlOf(files: Files, { port }: Postmaster, database = 'mooring'): string {
  const password = readFileSync(join(files.cluster, PASSWORD_FILE), 'utf8');
  return `postgres://mooring:${password}@127.0.0.1:${port}/${database}`;
}

/** Waits for the lock of the data directory. @returns a function that releases the lock @throws Error after `waitSeconds` */
export async function lockDataDir(
  files: Files,
  printMessage: (sentence: string) => void = () => {},
  waitSeconds = 10,
) {
  const deadline = Date.now() + waitSeconds * 1000;
  for (let hasPrinted = false; ; hasPrinted = true) {
    const release = tryKernelLock(files.lock);
    if (release) return release;
    const owner = `Another Mooring process (${readState(files)?.ownerPid ?? 'just starting'})`;
    if (Date.now() >= deadline) {
      throw new Error(`${owner} is using ${files.dataDir}: stop it, or set another DATA_DIR.`);
    }
    if (!hasPrinted) printMessage(`${owner} is using ${files.dataDir}: waiting for it to end.`);
    await pause(50);
  }
}
