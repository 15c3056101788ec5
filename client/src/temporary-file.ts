import { randomBytes } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** A temporary file that is older than this belongs to no running write: a write takes far less time. */
const MAX_WRITE_MS = 3_600_000;

/**
 * A new path at which this process writes a new version of a file, before it is renamed. It has the process id and random hex
 * digits, because processes in two containers, or on two computers, may have the same id.
 */
export function temporaryOf(file: string): string {
  return `${file}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`;
}

/**
 * Deletes the temporary files of this file that were left by killed processes: they contain the license key. A file with the id
 * of a running process is kept for an hour, because it may be a write in progress. An older one was left by an earlier process
 * with the same id: in a container, for example, each start gets the same id. Never throws.
 */
export async function removeAbandoned(file: string): Promise<void> {
  const prefix = `${basename(file)}.`;
  const names = await readdir(dirname(file)).catch(() => []);
  for (const name of names) {
    const id =
      name.startsWith(prefix) && /^(\d+)(?:-[0-9a-f]{8})?\.tmp$/.exec(name.slice(prefix.length))?.[1];
    const path = join(dirname(file), name);
    // If a file cannot be deleted now, the next read of the state tries again.
    if (id && (!isRunning(Number(id)) || (await isOld(path)))) await rm(path).catch(() => {});
  }
}

async function isOld(path: string): Promise<boolean> {
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Infinity }));
  return mtimeMs < Date.now() - MAX_WRITE_MS;
}

function isRunning(processId: number): boolean {
  try {
    // Signal 0 only asks whether the process exists. EPERM says that it does, and belongs to another user.
    return process.kill(processId, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
