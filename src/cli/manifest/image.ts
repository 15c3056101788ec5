import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { fileRefusal, Refused } from '../terminal/output.js';

const PIECE_BYTES = 1 << 20;

/**
 * Size and SHA-256 (hex) of an image, read as a stream.
 * @param watch told after each piece how many bytes are done, and of how many
 * @throws Refused where it is no file, is empty, or changed while it was read
 */
export async function readImage(
  file: string,
  watch: (done: number, total: number) => void,
): Promise<{ size: number; sha256: string }> {
  const look = () => stat(file, { bigint: true });
  const before = await look().catch((error: unknown) => refuse(file, error));
  if (!before.isFile()) throw new Refused(`${file} is not a file.`);
  if (before.size === 0n) throw new Refused(`${file} is empty.`);
  const size = Number(before.size);
  await using handle = await open(file).catch((error: unknown) => refuse(file, error));
  const digest = createHash('sha256');
  let done = 0;
  // One buffer for all pieces: a stream makes one for each, and gigabytes of them wait to be collected.
  const piece = Buffer.allocUnsafe(PIECE_BYTES);
  for (;;) {
    const { bytesRead } = await handle.read(piece, 0, PIECE_BYTES, done);
    // One that grows faster than it is read would never end.
    if (bytesRead === 0 || done + bytesRead > size) break;
    digest.update(piece.subarray(0, bytesRead));
    watch((done += bytesRead), size);
  }
  // Both the file that was read and the one that has its name now.
  const after = [await handle.stat({ bigint: true }), await look().catch(() => null)];
  if (done !== size || !after.every((stats) => stats && isSame(stats, before))) {
    throw new Refused(`${file} changed while it was read: sign it once it is complete.`);
  }
  return { size, sha256: digest.digest('hex') };
}

function isSame(a: BigIntStats, b: BigIntStats): boolean {
  return a.dev === b.dev && a.ino === b.ino && a.size === b.size && a.mtimeNs === b.mtimeNs;
}

function refuse(file: string, error: unknown): never {
  throw fileRefusal(file, error);
}
