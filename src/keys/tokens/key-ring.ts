import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isEd25519, thumbprint, verifyBytes } from '../ed25519/ed25519.js';
import { SignerCheck } from '../ed25519/signer-check.js';
import {
  codeText,
  createTokenKey,
  summarizeKeys,
  parseRing,
  readRingText,
  readText,
  writeRing,
  type KeySummary,
  type KeyState,
  type ReadText,
  type RingEntry,
} from './ring-file.js';

const RELOAD_INTERVAL_MS = 2_000;

/** A key of the ring that is not revoked. `kid` is its thumbprint. */
export interface TokenKey {
  kid: string;
  state: KeyState;
  /** Undefined if the file has only the public half, which is enough in the state `verifying`. */
  privateKey?: KeyObject;
  publicKey: KeyObject;
  /** Checks signatures. With the private half this takes a sixteenth of the time (docs/decisions/0058). */
  verifier: Pick<SignerCheck, 'accepts'>;
  /** The JWS header segment, in base64url, of all tokens that this key signs. `byHeader` finds the key by this segment. */
  header: string;
}

/** The ring as it was read. `text` is the content of ring.json, `entries` includes revoked keys. */
interface Ring {
  text: string;
  entries: RingEntry[];
  active: TokenKey;
  byHeader: Map<string, TokenKey>;
}

/**
 * The token key ring of a directory (docs/keys.md#token-key-ring). The file is long, because a ring is valid only as a whole:
 * ring.json and its key files are read, checked and reloaded together.
 */
export class KeyRing {
  #lastError: string | null = null;
  #reloading: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly dir: string,
    private readonly read: ReadText,
    private ring: Ring,
  ) {}

  /** @throws an Error of one sentence if the ring or a key in it is missing or invalid */
  static async open(dir: string, read = readText): Promise<KeyRing> {
    return new KeyRing(dir, read, await readRing(dir, read, await readRingText(dir, read)));
  }

  /** The key that signs new tokens. */
  get active(): TokenKey {
    return this.ring.active;
  }

  /** Returns the key whose tokens have this header segment; undefined if the key is unknown or revoked. */
  byHeader(segment: string): TokenKey | undefined {
    return this.ring.byHeader.get(segment);
  }

  /** Why the ring on disk cannot be loaded; null if the last reload by `watch` succeeded. A restart would fail with this error. */
  get lastError(): string | null {
    return this.#lastError;
  }

  /** All keys of the ring, also revoked keys, as the command line shows them. */
  get keys(): KeySummary[] {
    return summarizeKeys(this.ring.entries);
  }

  /** Returns the keys of `GET /v1/keys`: the public halves of all keys that are not revoked. */
  publishedKeys(): Pick<TokenKey, 'kid' | 'state' | 'publicKey'>[] {
    return [...this.ring.byHeader.values()].map(({ kid, state, publicKey }) => ({ kid, state, publicKey }));
  }

  /**
   * Reloads the ring if ring.json changed.
   * @returns whether ring.json changed @throws Error if the new ring is invalid; the old ring stays in use
   */
  reload(): Promise<boolean> {
    // Reloads run one at a time, so that a slow reload does not restore a key whose revocation a later reload has read.
    const reloaded = this.#reloading.then(() => this.#reload());
    this.#reloading = reloaded.catch(() => undefined);
    return reloaded;
  }

  async #reload(): Promise<boolean> {
    const text = await readRingText(this.dir, this.read);
    if (text === this.ring.text) return false;
    this.ring = await readRing(this.dir, this.read, text);
    return true;
  }

  /**
   * Reloads the ring every 2 seconds, so that a rotation needs no restart. An error that repeats is reported once.
   * @returns a function that stops the reloads
   */
  watch(onError: (error: Error) => void): () => void {
    let isReloading = false;
    let isStopped = false;
    const reload = async (): Promise<void> => {
      if (isReloading) return;
      isReloading = true;
      try {
        await this.reload();
        this.#lastError = null;
      } catch (thrown) {
        const error = thrown instanceof Error ? thrown : new Error(String(thrown));
        if (!isStopped && error.message !== this.#lastError) onError(error);
        this.#lastError = error.message;
      } finally {
        isReloading = false;
      }
    };
    const timer = setInterval(() => void reload(), RELOAD_INTERVAL_MS).unref();
    return () => {
      isStopped = true;
      clearInterval(timer);
    };
  }
}

/** Thrown if a folder has a key ring already. Its code is that of the system for a file that exists. */
class RingExists extends Error {
  readonly code = 'EEXIST';

  constructor(dir: string) {
    super(`${dir} holds a key ring already.`);
  }
}

/**
 * Creates a ring of one `active` and one `next` key.
 * @throws RingExists (`code` is `EEXIST`) if the folder has a ring already, which is not changed
 */
export async function createKeyRing(dir: string, now: Date): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  if (existsSync(join(dir, 'ring.json'))) throw new RingExists(dir);
  const entries: RingEntry[] = [];
  try {
    for (const state of ['active', 'next'] as const) entries.push(await createTokenKey(dir, state, now));
    // `link`, unlike `rename`, fails if another process has created ring.json since the check above.
    await writeRing(dir, entries, link);
  } catch (error) {
    await Promise.all(entries.map((entry) => rm(join(dir, entry.file))));
    // If another process has created a ring at the same time, its ring is kept.
    throw existsSync(join(dir, 'ring.json')) ? new RingExists(dir) : error;
  }
}

async function readRing(dir: string, read: ReadText, text: string): Promise<Ring> {
  const entries = parseRing(text);
  // The file of a revoked key is never read, because it may have been destroyed.
  const usableEntries = entries.filter((entry) => entry.state !== 'revoked');
  const keys = await Promise.all(usableEntries.map((entry) => readKey(dir, read, entry)));
  // parseRing accepts no ring without an active key.
  const active = keys.find((key) => key.state === 'active')!;
  return { text, entries, active, byHeader: new Map(keys.map((key) => [key.header, key])) };
}

/**
 * Reads the key of an entry.
 * @throws an Error of one sentence if its file is missing or does not have this key, or lacks a private half that its state needs
 */
export async function readKey(
  dir: string,
  read: ReadText,
  { kid, file, state }: RingEntry,
): Promise<TokenKey> {
  const pem = await read(join(dir, file)).catch((error: unknown) => {
    throw new Error(`The token key file ${file} is missing or cannot be read${codeText(error)}.`);
  });
  const key = parseKey(pem);
  if (!key || !isEd25519(key)) throw new Error(`The token key file ${file} is not an Ed25519 key in PEM.`);
  if (thumbprint(key) !== kid) throw new Error(`The token key file ${file} does not hold the key ${kid}.`);
  const header = Buffer.from(JSON.stringify({ alg: 'Ed25519', kid, typ: 'license+jwt' })).toString(
    'base64url',
  );
  if (key.type === 'private') {
    const verifier = new SignerCheck(key);
    return { kid, state, privateKey: key, publicKey: createPublicKey(key), verifier, header };
  }
  if (state === 'verifying') return { kid, state, publicKey: key, verifier: publicVerifier(key), header };
  throw new Error(`The token key file ${file} lacks the private half that a key in state ${state} needs.`);
}

const publicVerifier = (publicKey: KeyObject): TokenKey['verifier'] => ({
  accepts: (text, signature) => verifyBytes(publicKey, text, signature),
});

function parseKey(pem: string): KeyObject | null {
  try {
    return pem.includes('PRIVATE KEY') ? createPrivateKey(pem) : createPublicKey(pem);
  } catch {
    return null;
  }
}
