import { generateKeyPairSync } from 'node:crypto';
import { lchown, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { rfc3339 } from '../../core/clock.js';
import { isObject } from '../../core/json-object.js';
import { replaceFile, writeNewFile } from '../../core/new-file.js';
import { thumbprint } from '../ed25519/ed25519.js';

const STATES = ['next', 'active', 'verifying', 'revoked'] as const;
const UTC_INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/**
 * `next` is in the answer of `GET /v1/keys` and never signs; `active` signs; `verifying` only verifies, without a time limit;
 * `revoked` is refused.
 */
export type KeyState = (typeof STATES)[number];

/**
 * An entry of ring.json. `file` is the name of a PEM file in the same folder; `since` is the time at which the key got its state.
 */
export interface RingEntry {
  kid: string;
  file: string;
  state: KeyState;
  since: string;
}

/**
 * Creates a private key in `<kid>.pem`, mode 0600; no file if this fails.
 * @returns the entry of the key; the caller writes ring.json
 */
export async function createTokenKey(dir: string, state: KeyState, now: Date): Promise<RingEntry> {
  const { privateKey } = generateKeyPairSync('ed25519');
  const kid = thumbprint(privateKey);
  const file = `${kid}.pem`;
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' });
  await writeNewFile(join(dir, file), pem, 0o600);
  await giveToFolderOwner(dir, file).catch(async (error: unknown) => {
    await rm(join(dir, file));
    throw error;
  });
  return { kid, file, state, since: now.toISOString() };
}

/**
 * Writes ring.json atomically: a reader sees the old file or the new one.
 * @param moveFile `rename` replaces an existing ring.json; `link` fails if it exists
 */
export async function writeRing(dir: string, entries: RingEntry[], moveFile = rename): Promise<void> {
  const text = `${JSON.stringify({ keys: entries }, null, 2)}\n`;
  await replaceFile(join(dir, 'ring.json'), text, async (temporary, ring) => {
    await giveToFolderOwner(dir, basename(temporary));
    await moveFile(temporary, ring);
  });
}

/** The members of an entry that the command line shows. */
export type KeySummary = Pick<RingEntry, 'kid' | 'state' | 'since'>;

/** Returns the entries as the command line shows them, with times to the second. */
export function summarizeKeys(entries: readonly RingEntry[]): KeySummary[] {
  return entries.map(({ kid, state, since }) => ({ kid, state, since: rfc3339(new Date(since)) }));
}

/**
 * Gives a file that root creates to the owner of the folder, so that a service that does not run as root can use it. That owner may
 * have replaced the file by a symbolic link: then only the link changes its owner, and never its target.
 */
export async function giveToFolderOwner(dir: string, file: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await stat(dir);
  await lchown(join(dir, file), uid, gid);
}

/** A function that reads a file as text. Tests pass one of their own. */
export type ReadText = (path: string) => Promise<string>;

export const readText: ReadText = (path) => readFile(path, 'utf8');

/** Returns the code of a failed access to a file in parentheses, such as ` (ENOENT)`; an empty text if it has none. */
export function codeText(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined ? '' : ` (${code})`;
}

/** Reads the text of ring.json. @throws Error if it cannot be read */
export async function readRingText(dir: string, read = readText): Promise<string> {
  return read(join(dir, 'ring.json')).catch((error: unknown) => {
    throw new Error(`${dir} holds no ring.json that can be read${codeText(error)}.`);
  });
}

/** Parses the text of ring.json. @throws Error if it is not valid, or has not exactly one active key */
export function parseRing(text: string): RingEntry[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error('ring.json is not JSON.');
  }
  const keys = isObject(value) ? value.keys : undefined;
  if (!Array.isArray(keys) || !keys.every(isRingEntry)) {
    throw new Error('ring.json must be {"keys":[{"kid","file","state","since"}]} with known states.');
  }
  if (new Set(keys.map((entry) => entry.kid)).size !== keys.length)
    throw new Error('ring.json names a key twice.');
  const active = keys.filter((entry) => entry.state === 'active').length;
  if (active !== 1) throw new Error(`ring.json must have exactly one active key, and has ${active}.`);
  return keys;
}

function isRingEntry(value: unknown): value is RingEntry {
  if (!isObject(value)) return false;
  const { kid, file, state, since } = value;
  if (typeof kid !== 'string' || typeof since !== 'string' || !UTC_INSTANT.test(since)) return false;
  if (typeof file !== 'string' || file !== basename(file) || !file.endsWith('.pem')) return false;
  return STATES.some((known) => known === state);
}
