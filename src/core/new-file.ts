import { randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/**
 * Writes a new file completely, or leaves none: an incomplete file, such as on a full disk, would make the next attempt fail.
 * @throws Error with the code EEXIST if the file exists
 */
export async function writeNewFile(file: string, data: string | Buffer, mode = 0o666): Promise<void> {
  await writeContent(file, data, mode);
  await syncFolder(dirname(file));
}

async function writeContent(file: string, data: string | Buffer, mode: number): Promise<void> {
  const handle = await open(file, 'wx', mode);
  try {
    await handle.writeFile(data);
    await handle.sync();
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}

/**
 * Writes a file of mode 0600 atomically: a reader sees the old file or the new one, and no other file is left.
 * @param move gives the complete file its name: `rename` replaces an existing file, `link` fails if it exists
 */
export async function replaceFile(
  file: string,
  data: string | Buffer,
  move: (temporary: string, file: string) => Promise<void> = rename,
): Promise<void> {
  const temporary = join(dirname(file), `.${randomUUID()}`);
  try {
    await writeContent(temporary, data, 0o600);
    await move(temporary, file);
  } finally {
    await rm(temporary, { force: true });
  }
  await syncFolder(dirname(file));
}

/** Writes the names in a folder to the disk: otherwise a power loss could remove a new file, or bring back the one it replaced. */
export async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder);
    await handle.sync().finally(() => handle.close());
  } catch {
    // Some systems cannot do this. The file itself is complete.
  }
}
