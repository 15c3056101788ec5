import { open, rm } from 'node:fs/promises';

/**
 * Writes a new file completely, or leaves none: with an incomplete file, as on a full disk, the next attempt would be refused.
 * @throws Error with the code EEXIST if the file exists
 */
export async function writeNewFile(file: string, data: string | Buffer, mode = 0o666): Promise<void> {
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
