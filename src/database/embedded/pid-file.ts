import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A running PostgreSQL server, which listens on this port of 127.0.0.1. */
export interface Postmaster {
  pid: number;
  port: number;
}

/** What is read from `postmaster.pid`. `status` is `ready` when the server accepts connections. */
interface PidFile extends Postmaster {
  status: string;
}

/** Reads the pid file of the last server of this cluster, which may have ended since; null if no pid file can be read. */
export function readPidFile(cluster: string): PidFile | null {
  try {
    const lines = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n');
    const pid = Number(lines[0]);
    return pid > 0 ? { pid, port: Number(lines[3]), status: (lines[7] ?? '').trim() } : null;
  } catch {
    return null; // The file is missing, because a server removes it when it stops, or it cannot be read.
  }
}

/**
 * Writes the id of this process into a stale pid file. PostgreSQL does not start while another program has the process id in the
 * file. It ignores the id of its parent process, which is this one, but still checks that the shared memory named in the file is
 * unused.
 */
export function replaceStalePid(cluster: string): void {
  const file = join(cluster, 'postmaster.pid');
  if (!existsSync(file)) return;
  writeFileSync(file, readFileSync(file, 'utf8').replace(/^.*/, String(process.pid)));
}
