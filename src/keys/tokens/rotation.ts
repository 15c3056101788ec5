import { lstatSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readKey } from './key-ring.js';
import {
  codeText,
  createTokenKey,
  giveToFolderOwner,
  parseRing,
  readRingText,
  readText,
  writeRing,
  type RingEntry,
} from './ring-file.js';

/** The file whose lock excludes other commands. */
const LOCK_FILE = 'ring.lock';

/**
 * After this time every instance has loaded a change of the ring, such as a new `next` key: instances reload it every 2 seconds.
 */
export const RING_PROPAGATION_MS = 5_000;

/** If a rotation would have to wait at least this long, a clock is or was wrong. */
const MAX_CLOCK_DIFFERENCE_MS = 3_600_000;

/** The error of a change of the ring that is refused. Its message is one sentence for the operator. */
export class RotationError extends Error {}

/**
 * Rotates the keys (docs/keys.md#token-key-ring): the `next` key becomes `active`, the former `active` key becomes `verifying`, and
 * a new `next` key is created. No instance restarts, and no token is refused unless a clock is wrong (`promote`). A ring without a
 * `next` key only gets a `next` key.
 * @param dir holds the PEM files and ring.json
 * @returns the ring as it is now
 * @throws RotationError if the `next` key is unreadable or younger than 5 seconds, if another command changes the ring, or if the
 *   folder cannot be written
 * @throws Error if ring.json is missing or invalid
 */
export function rotateKeys(dir: string, now: Date): Promise<RingEntry[]> {
  return changeRing(dir, now, (entries) => {
    const next = entries.find(({ state }) => state === 'next');
    // `changeRing` creates the missing `next` key, which signs after the following rotation.
    if (!next) return entries;
    return promote(dir, entries, next, now, 'verifying');
  });
}

/**
 * Revokes a leaked key. The answer to its tokens is `token_invalid`, so the clients activate again by themselves and keep their
 * activation. If the key is active, the `next` key replaces it.
 * @throws RotationError if there is no such key, if it is revoked already, if the key that would replace it is missing,
 *   unreadable or younger than 5 seconds, if another command changes the ring, or if the folder cannot be written
 * @throws Error if ring.json is missing or invalid
 */
export function revokeKey(dir: string, kid: string, now: Date): Promise<RingEntry[]> {
  return changeRing(dir, now, (entries) => {
    const leaked = revocableKey(entries, kid);
    if (leaked.state !== 'active') return withState(entries, leaked, 'revoked', now);
    const next = entries.find(({ state }) => state === 'next');
    if (!next)
      throw new RotationError('There is no next key to sign instead: run mooring keys rotate first.');
    return promote(dir, entries, next, now, 'revoked');
  });
}

/**
 * Finds the key that a revocation names.
 * @throws RotationError if there is no such key, or if it is revoked already
 */
export function revocableKey<Key extends Pick<RingEntry, 'kid' | 'state'>>(
  keys: readonly Key[],
  kid: string,
): Key {
  const key = keys.find((candidate) => candidate.kid === kid);
  if (!key) throw new RotationError(`The ring has no key ${kid}: run mooring keys list to see the keys.`);
  if (key.state === 'revoked') throw new RotationError(`The key ${kid} is revoked already.`);
  return key;
}

/**
 * Makes `next` the active key, and gives the former active key the state `formerState`.
 * @throws RotationError if `next` is too young, or if its file is not usable
 */
async function promote(
  dir: string,
  entries: RingEntry[],
  next: RingEntry,
  now: Date,
  formerState: RingEntry['state'],
): Promise<RingEntry[]> {
  const waitMs = Date.parse(next.since) + RING_PROPAGATION_MS - now.getTime();
  // `next.since` is in the future only if a clock is or was wrong. A rotation is then refused while it would wait for less
  // than an hour. It is not refused for a longer wait, which would prevent rotations for as long as the clock was ahead. A
  // revocation is not refused for any `since` in the future, because the leaked key would sign in the meantime.
  // Instances that do not know `next` yet refuse its tokens for at most 2 seconds, and the clients that sent these tokens activate
  // again.
  const isClockWrong =
    formerState === 'revoked' ? waitMs > RING_PROPAGATION_MS : waitMs >= MAX_CLOCK_DIFFERENCE_MS;
  if (waitMs > 0 && !isClockWrong) {
    const seconds = Math.ceil(waitMs / 1_000);
    throw new RotationError(
      `The next key is too young for every instance to know it: try again in ${seconds} s.`,
    );
  }
  // With an unusable key every instance would go on with the ring that it has, and accept a leaked key.
  await readKey(dir, readText, next).catch(({ message }: Error) => {
    throw new RotationError(
      `The next key cannot sign. ${message} Restore it from the backup of the folder, or make another next key: mooring keys revoke -- ${next.kid}`,
    );
  });
  const active = entries.find(({ state }) => state === 'active')!;
  return withState(withState(entries, active, formerState, now), next, 'active', now);
}

function withState(
  entries: RingEntry[],
  changed: RingEntry,
  state: RingEntry['state'],
  now: Date,
): RingEntry[] {
  return entries.map((entry) =>
    entry.kid === changed.kid ? { ...entry, state, since: now.toISOString() } : entry,
  );
}

/**
 * Changes the ring under a lock: a rotation that began before a revocation must not write the leaked key back. If the changed ring
 * has no `next` key, one is created.
 */
async function changeRing(
  dir: string,
  now: Date,
  change: (entries: RingEntry[]) => RingEntry[] | Promise<RingEntry[]>,
): Promise<RingEntry[]> {
  // Throws if there is no ring, before the lock creates its file.
  await readRingText(dir);
  const release = await lockRing(dir);
  try {
    await giveToFolderOwner(dir, LOCK_FILE);
    const entries = await change(parseRing(await readRingText(dir)));
    return await storeRing(dir, entries, now).catch((error: unknown) => {
      throw writeError(dir, error);
    });
  } finally {
    release();
  }
}

/** Writes the ring, with a new `next` key if it has none. @returns the ring as it is now */
async function storeRing(dir: string, entries: RingEntry[], now: Date): Promise<RingEntry[]> {
  if (entries.some(({ state }) => state === 'next')) {
    await writeRing(dir, entries);
    return entries;
  }
  const next = await createTokenKey(dir, 'next', now);
  const completed = [...entries, next];
  await writeRing(dir, completed).catch(async (error: unknown) => {
    await rm(join(dir, next.file));
    throw error;
  });
  return completed;
}

/** Converts an error on writing a file of the ring, or its folder, to `RotationError`. */
const writeError = (file: string, error: unknown): RotationError =>
  new RotationError(`${file} cannot be written${codeText(error)}: the ring stays as it is.`);

async function lockRing(dir: string): Promise<() => void> {
  // The module is loaded on demand, because most commands do not need SQLite.
  const { tryKernelLock } = await import('../../core/kernel-lock.js');
  const file = join(dir, LOCK_FILE);
  // Root would create or lock whatever file the owner of the folder chose.
  if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink())
    throw new RotationError(`${file} is a symbolic link: the ring stays as it is.`);
  const lock = () => {
    try {
      return tryKernelLock(file);
    } catch (error) {
      throw writeError(file, error);
    }
  };
  const release = lock();
  if (release) return release;
  throw new RotationError('Another command changes the ring just now: try again.');
}
