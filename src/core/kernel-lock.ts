import { accessSync, closeSync, constants, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

// A lock without a reference would be garbage collected and thereby released.
const heldLocks = new Set<DatabaseSync>();

/**
 * Tries to take an exclusive lock on a file, without waiting, and creates the file if it is missing. The kernel releases the lock
 * when the process ends for any reason, so there are no stale locks. Node has no such lock, so this is the lock of an SQLite file,
 * which stays empty and needs no journal.
 * @throws Error if this process cannot create, read or write the file, with a `code` such as ENOSPC or EACCES
 * @returns a function that releases the lock; null if another process, or another part of this one, holds it
 */
export function tryKernelLock(file: string): (() => void) | null {
  createIfMissing(file);
  // If SQLite may only read the file, its exclusive lock excludes no process, and if it may not even do that, its error does not
  // name the cause. The check does not open the file, because closing it again would release the locks of this process.
  accessSync(file, constants.R_OK | constants.W_OK);
  const lock = new DatabaseSync(file);
  try {
    // In the default mode SQLite would write a journal beside the file, which fails on a full disk. Node refuses to disable it.
    lock.exec('pragma journal_mode = memory; begin exclusive');
  } catch (error) {
    lock.close();
    const SQLITE_BUSY = 5;
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return null;
    throw error;
  }
  heldLocks.add(lock);
  return () => void (heldLocks.delete(lock) && lock.close());
}

/** SQLite would create the file too, but its errors do not name the cause. Closing a new file releases no lock. */
function createIfMissing(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o644));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
