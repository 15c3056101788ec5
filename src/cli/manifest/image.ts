import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { explainFileError } from '../terminal/files.js';
import { CommandError } from '../terminal/output.js';

const CHUNK_BYTES = 1 << 20;
/** A disk image (UDIF) ends with a block of this size, which begins with `koly`. */
const TRAILER_BYTES = 512;

/**
 * Computes the size and the digest of a disk image, which is read in chunks, and looks for the block at its end.
 * @param onProgress called after each chunk, with the number of bytes read so far and the size of the file
 * @returns the size, the SHA-256 (hex), and whether the file is a disk image
 * @throws CommandError if the path is not a file that can be read, or the file is empty or changed while it was read
 */
export async function readImage(
  file: string,
  onProgress: (done: number, total: number) => void,
): Promise<{ size: number; sha256: string; isDiskImage: boolean }> {
  const readStats = () => stat(file, { bigint: true });
  const before = await explainFileError(file, readStats());
  if (!before.isFile()) throw new CommandError(`${file} is not a file.`);
  if (before.size === 0n) throw new CommandError(`${file} is empty.`);
  const size = Number(before.size);
  await using handle = await explainFileError(file, open(file));
  const digest = createHash('sha256');
  const trailer = await handle.read(Buffer.alloc(4), 0, 4, Math.max(0, size - TRAILER_BYTES));
  let done = 0;
  // All chunks share one buffer. A stream would allocate a buffer for each chunk, so gigabytes would wait for garbage collection.
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  for (;;) {
    const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, done);
    // Reading stops at the size that the file had at the start, because a growing file might never end.
    if (bytesRead === 0 || done + bytesRead > size) break;
    digest.update(chunk.subarray(0, bytesRead));
    onProgress((done += bytesRead), size);
  }
  // The file that was read must be unchanged, and the path must still name this file.
  const after = [await handle.stat({ bigint: true }), await readStats().catch(() => null)];
  if (done !== size || !after.every((stats) => stats && isSameFile(stats, before))) {
    throw new CommandError(`${file} changed while it was read: sign it once it is complete.`);
  }
  return { size, sha256: digest.digest('hex'), isDiskImage: trailer.buffer.toString('latin1') === 'koly' };
}

function isSameFile(a: BigIntStats, b: BigIntStats): boolean {
  return a.dev === b.dev && a.ino === b.ino && a.size === b.size && a.mtimeNs === b.mtimeNs;
}
