import { access, constants, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** What prevents that a file or folder is written. */
export interface WriteFault {
  /** The path, or the nearest folder above it that exists. */
  readonly target: string;
  /** The code of the system error. */
  readonly code: string | undefined;
}

/** Checks whether a file or folder can be written or created. @returns undefined if it can */
export async function findWriteFault(path: string, kind: 'file' | 'folder'): Promise<WriteFault | undefined> {
  const target = await nearestExisting(path);
  try {
    const isFolder = (await stat(target)).isDirectory();
    const { R_OK, W_OK, X_OK } = constants;
    // Without X_OK no file of a folder can be opened or created.
    await access(target, isFolder ? R_OK | W_OK | X_OK : R_OK | W_OK);
    // An existing path must be of this kind. Above one that does not exist yet, there must be a folder.
    if (isFolder === (kind === 'folder' || target !== path)) return undefined;
    return { target, code: isFolder ? 'EISDIR' : 'ENOTDIR' };
  } catch (error) {
    return { target, code: (error as NodeJS.ErrnoException).code };
  }
}

/** Returns a path, or the nearest folder above it that exists: a start creates the folders below it. */
export async function nearestExisting(path: string): Promise<string> {
  const exists = await access(path).then(
    () => true,
    () => false,
  );
  return exists || dirname(path) === path ? path : nearestExisting(dirname(path));
}
