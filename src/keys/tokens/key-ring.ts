import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { access, link, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isEd25519, thumbprint } from '../ed25519.js';
import {
  createTokenKey,
  keyLines,
  parseRing,
  readRingText,
  readText,
  writeRing,
  type KeyLine,
  type KeyState,
  type ReadText,
  type RingEntry,
} from './ring-file.js';

const RELOAD_MILLISECONDS = 2_000;

export interface TokenKey {
  kid: string;
  state: KeyState;
  /** Absent where only the public half was kept, which is enough for `verifying`. */
  privateKey?: KeyObject;
  publicKey: KeyObject;
  /** The whole JWS header segment, base64url: built once, looked up as it is. */
  header: string;
}

interface Ring {
  text: string;
  entries: RingEntry[];
  active: TokenKey;
  byHeader: Map<string, TokenKey>;
}

/** The token-signing keys of a directory (docs/keys.md#license-tokens). */
export class KeyRing {
  #trouble: string | null = null;
  #reloading: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly dir: string,
    private readonly read: ReadText,
    private ring: Ring,
  ) {}

  /** Throws one sentence where the ring or a key in it is missing or wrong. */
  static async open(dir: string, read = readText): Promise<KeyRing> {
    return new KeyRing(dir, read, await readRing(dir, read, await readRingText(dir, read)));
  }

  get active(): TokenKey {
    return this.ring.active;
  }

  /** The key whose exact header segment this is; a revoked key's is unknown. */
  byHeader(segment: string): TokenKey | undefined {
    return this.ring.byHeader.get(segment);
  }

  /** Why the ring on disk is not the one in use; null where it is. A restart would fail on it. */
  get trouble(): string | null {
    return this.#trouble;
  }

  /** Every key of the ring, revoked ones too, for the command line. */
  get keys(): KeyLine[] {
    return keyLines(this.ring.entries);
  }

  /** What `GET /v1/keys` shows: all but the revoked, public halves only. */
  publishedKeys(): Pick<TokenKey, 'kid' | 'state' | 'publicKey'>[] {
    return [...this.ring.byHeader.values()].map(({ kid, state, publicKey }) => ({ kid, state, publicKey }));
  }

  /** Reads the ring again where ring.json changed, and says whether it did. A broken one throws; the old stays. */
  reload(): Promise<boolean> {
    // One at a time: a slow reload must not put a key back into use whose revocation a later one has read.
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

  /** Reloads every 2 seconds, so a rotation needs no restart; returns the stop. An error is told once, not each time. */
  watch(onError: (error: Error) => void): () => void {
    let busy = false;
    let stopped = false;
    const look = async (): Promise<void> => {
      if (busy) return;
      busy = true;
      try {
        await this.reload();
        this.#trouble = null;
      } catch (thrown) {
        const error = thrown instanceof Error ? thrown : new Error(String(thrown));
        if (!stopped && error.message !== this.#trouble) onError(error);
        this.#trouble = error.message;
      } finally {
        busy = false;
      }
    };
    const timer = setInterval(() => void look(), RELOAD_MILLISECONDS).unref();
    return () => {
      stopped = true;
      clearInterval(timer);
    };
  }
}

/** Makes a ring of one `active` and one `next` key. Refuses, leaving nothing behind, where there is a ring. */
export async function createKeyRing(dir: string, now: Date): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  if (await exists(join(dir, 'ring.json'))) throw new Error(`${dir} holds a key ring already.`);
  const entries = [await createTokenKey(dir, 'active', now), await createTokenKey(dir, 'next', now)];
  try {
    await writeRing(dir, entries, link);
  } catch (error) {
    await Promise.all(entries.map((entry) => rm(join(dir, entry.file))));
    // Two first starts at once: the other one's ring stands.
    throw (await exists(join(dir, 'ring.json'))) ? new Error(`${dir} holds a key ring already.`) : error;
  }
}

async function readRing(dir: string, read: ReadText, text: string): Promise<Ring> {
  const entries = parseRing(text);
  // A revoked key's file is never read: its owner may well have destroyed it.
  const usable = entries.filter((entry) => entry.state !== 'revoked');
  const keys = await Promise.all(usable.map((entry) => readKey(dir, read, entry)));
  // parseRing accepts no ring without an active key.
  const active = keys.find((key) => key.state === 'active')!;
  return { text, entries, active, byHeader: new Map(keys.map((key) => [key.header, key])) };
}

async function readKey(dir: string, read: ReadText, { kid, file, state }: RingEntry): Promise<TokenKey> {
  const pem = await read(join(dir, file)).catch(() => null);
  if (pem === null) throw new Error(`The token key file ${file} is missing or cannot be read.`);
  const key = parseKey(pem);
  if (!key || !isEd25519(key)) throw new Error(`The token key file ${file} is not an Ed25519 key in PEM.`);
  if (thumbprint(key) !== kid) throw new Error(`The token key file ${file} does not hold the key ${kid}.`);
  const header = Buffer.from(JSON.stringify({ alg: 'Ed25519', kid, typ: 'license+jwt' })).toString(
    'base64url',
  );
  if (key.type === 'private') return { kid, state, privateKey: key, publicKey: createPublicKey(key), header };
  if (state === 'verifying') return { kid, state, publicKey: key, header };
  throw new Error(`The token key file ${file} lacks the private half that a key in state ${state} needs.`);
}

function parseKey(pem: string): KeyObject | null {
  try {
    return pem.includes('PRIVATE KEY') ? createPrivateKey(pem) : createPublicKey(pem);
  } catch {
    return null;
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
