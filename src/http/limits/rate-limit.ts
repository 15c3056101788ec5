import { createHmac, randomBytes } from 'node:crypto';
import { problem } from '../problems/problem.js';

/** The key of the hashes of identities. It is random in each process, so that nothing can match a hash to an identity later. */
const HMAC_KEY = randomBytes(32);

/** The largest number of identities whose attempts one `RateLimit` counts; they need about 20 MB of memory. */
const MAX_KEYS = 50_000;

/** The attempts of one identity in a period that begins with the first of them. */
interface Window {
  attempts: number;
  /** The end of the window, in milliseconds of the monotonic clock. */
  readonly endsAt: number;
}

/**
 * Limits the attempts of one kind by identity, such as an e-mail address, never by IP address (docs/contract.md#limits). The counts
 * are in memory, under keys that are hashes of the identities. If there are too many keys, the key with the fewest attempts is
 * dropped, but never a key that has reached the limit. If all keys have reached it, further identities are not counted.
 */
export class RateLimit {
  /** The windows by key. The map is in the order of their ends, because all windows have the same length. */
  readonly #windows = new Map<string, Window>();
  /** At the index n, the keys with n attempts. Each set is in the order of insertion. */
  readonly #byAttempts: readonly Set<string>[];

  /**
   * @param maxAttempts the largest number of attempts under one key in a window
   * @param windowSeconds the length of a window
   * @param maxKeys the largest number of keys
   * @param now returns the milliseconds of a monotonic clock
   */
  constructor(
    private readonly maxAttempts: number,
    private readonly windowSeconds: number,
    private readonly maxKeys = MAX_KEYS,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.#byAttempts = Array.from({ length: maxAttempts + 1 }, () => new Set<string>());
  }

  /** Counts an attempt. @param identity is stored only as a hash @throws Problem `too_many_requests` if the limit is reached */
  count(identity: string): void {
    this.#count(hashIdentity(identity));
  }

  /**
   * Counts an attempt and does its work. The attempt is taken back if the work fails, so that a failure of the database, which
   * people answer by repeating their request, does not use up their attempts.
   * @throws Problem `too_many_requests` if the limit is reached, and the error of the work
   */
  async countUnlessFailed<Result>(identity: string, work: () => Promise<Result>): Promise<Result> {
    const key = hashIdentity(identity);
    const window = this.#count(key);
    try {
      return await work();
    } catch (error) {
      // The window may have ended or been dropped meanwhile.
      if (window && this.#windows.get(key) === window) this.#setAttempts(key, window, window.attempts - 1);
      throw error;
    }
  }

  /** Checks the limit of an identity without counting an attempt. @throws Problem `too_many_requests` if the limit is reached */
  check(identity: string): void {
    this.#requireBelowLimit(hashIdentity(identity));
  }

  /** @returns the window of a key; undefined if it has none @throws Problem `too_many_requests` if the limit is reached */
  #requireBelowLimit(key: string): Window | undefined {
    this.#dropEndedWindows();
    const window = this.#windows.get(key);
    if (window?.attempts !== this.maxAttempts) return window;
    const seconds = Math.max(1, Math.ceil((window.endsAt - this.now()) / 1000));
    throw problem('too_many_requests', {}, { 'retry-after': String(seconds) });
  }

  /** @returns the window in which the attempt is counted; undefined if it is not counted */
  #count(key: string): Window | undefined {
    const window = this.#requireBelowLimit(key);
    if (!window) return this.#startWindow(key);
    this.#setAttempts(key, window, window.attempts + 1);
    return window;
  }

  #setAttempts(key: string, window: Window, attempts: number): void {
    this.#byAttempts[window.attempts]!.delete(key);
    window.attempts = attempts;
    this.#byAttempts[attempts]!.add(key);
  }

  #startWindow(key: string): Window | undefined {
    if (this.#windows.size >= this.maxKeys && !this.#dropKeyWithFewestAttempts()) return undefined;
    const window = { attempts: 1, endsAt: this.now() + this.windowSeconds * 1000 };
    this.#windows.set(key, window);
    this.#byAttempts[1]!.add(key);
    return window;
  }

  /**
   * Drops one key: of the keys with the fewest attempts, the one that has had this number of attempts for the longest time.
   * @returns false if all keys have reached the limit
   */
  #dropKeyWithFewestAttempts(): boolean {
    const keys = this.#byAttempts.slice(0, this.maxAttempts).find(({ size }) => size > 0);
    if (!keys) return false;
    const [oldest] = keys;
    this.#drop(oldest!);
    return true;
  }

  #dropEndedWindows(): void {
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
