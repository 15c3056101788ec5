import { createHmac, randomBytes } from 'node:crypto';
import { problem } from '../problems/problem.js';

/** The key is random in each process, so that the hashes cannot be matched to identities later. */
const HMAC_KEY = randomBytes(32);

/** The largest number of identities that one `RateLimit` counts; they need about 20 MB. */
const MAX_KEYS = 50_000;

/** The attempts under one key since the first of them. */
interface Window {
  attempts: number;
  /** The end of the window, in milliseconds of the monotonic clock. */
  readonly endsAt: number;
}

/**
 * Counts attempts of one kind in memory, never by IP address (docs/contract.md#limits). If there are more keys than it can keep, it
 * drops those with the fewest attempts first, and never one that has reached the limit.
 */
export class RateLimit {
  /** The windows by key. They are ordered by their end, because all have the same length. */
  readonly #windows = new Map<string, Window>();
  /** The keys by number of attempts; each set is in the order of insertion. */
  readonly #byAttempts: readonly Set<string>[];

  /**
   * @param attempts the largest number of attempts under one key in a window
   * @param seconds the length of a window
   * @param maxKeys the largest number of keys
   * @param now milliseconds of a monotonic clock
   */
  constructor(
    private readonly attempts: number,
    private readonly seconds: number,
    private readonly maxKeys = MAX_KEYS,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.#byAttempts = Array.from({ length: attempts + 1 }, () => new Set<string>());
  }

  /** Counts an attempt. @param identity is stored as a hash @throws Problem `too_many_requests` */
  count(identity: string): void {
    const key = hashIdentity(identity);
    const window = this.#requireBelowLimit(key);
    if (!window) return this.#startWindow(key);
    this.#byAttempts[window.attempts]!.delete(key);
    window.attempts += 1;
    this.#byAttempts[window.attempts]!.add(key);
  }

  /** Checks the limit of an identity without counting an attempt. @throws Problem `too_many_requests` */
  check(identity: string): void {
    this.#requireBelowLimit(hashIdentity(identity));
  }

  #requireBelowLimit(key: string): Window | undefined {
    this.#dropEnded();
    const window = this.#windows.get(key);
    if (window?.attempts !== this.attempts) return window;
    const seconds = Math.max(1, Math.ceil((window.endsAt - this.now()) / 1000));
    throw problem('too_many_requests', {}, { 'retry-after': String(seconds) });
  }

  #startWindow(key: string): void {
    if (this.#windows.size >= this.maxKeys && !this.#dropFewest()) return;
    this.#windows.set(key, { attempts: 1, endsAt: this.now() + this.seconds * 1000 });
    this.#byAttempts[1]!.add(key);
  }

  /** Drops the oldest of the keys with the fewest attempts. @returns false if all keys have reached the limit */
  #dropFewest(): boolean {
    const fewest = this.#byAttempts.slice(0, this.attempts).find(({ size }) => size > 0);
    if (!fewest) return false;
    const [oldest] = fewest;
    this.#drop(oldest!);
    return true;
  }

  #dropEnded(): void {
    const now = this.now();
    for (const [key, { endsAt }] of this.#windows) {
      if (endsAt > now) return;
      this.#drop(key);
    }
  }

  #drop(key: string): void {
    this.#byAttempts[this.#windows.get(key)!.attempts]!.delete(key);
    this.#windows.delete(key);
  }
}

function hashIdentity(identity: string): string {
  return createHmac('sha256', HMAC_KEY).update(identity).digest('base64url');
}
