import { DatabaseSync } from 'node:sqlite';

// A lock that nobody refers to would be garbage collected, and so let go of.
const held = new Set<DatabaseSync>();

/**
 * Takes an exclusive lock on a file, which is made where it is missing. It is a lock of the kernel, which frees it when
 * its holder dies, however that happens: there is no stale one to recognise, and no process id to mistake. Node offers
 * none by itself, SQLite does.
 * @returns how to let go of it; null where another process, or another part of this one, has it
 */
export function tryKernelLock(file: string): (() => void) | null {
  const lock = new DatabaseSync(file);
  try {
    lock.exec('pragma journal_mode = off; begin exclusive');
  } catch (error) {
    lock.close();
    const busy = 5;
    if ((error as { errcode?: number }).errcode === busy) return null;
    throw error;
  }
  held.add(lock);
  return () => void (held.delete(lock) && lock.close());
}
