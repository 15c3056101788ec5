import { createHmac, randomBytes } from 'node:crypto';
import { problem } from '../problems/problem.js';

/** Forgotten with the process: what is counted cannot be told from the keys it is counted under. */
const KEY = randomBytes(32);

/** Keys of each kind that are remembered at once; they take some 20 MB at most. */
const REMEMBERED = 50_000;

/** The attempts under one key since the first of them. */
interface Window {
  attempts: number;
  /** When they are forgotten, in milliseconds of the monotonic clock. */
  readonly endsAt: number;
}

/**
 * Counts attempts of one kind in memory, never by address (docs/contract.md#limits). Where more keys come than it remembers, it
 * forgets those with the fewest attempts first, and never one that has reached the limit.
 */
export class RateLimit {
  /** In the order in which they end, because each lasts equally long. */
  readonly #windows = new Map<string, Window>();
  /** The keys by their number of attempts, each set in the order in which they came to it. */
  readonly #byAttempts: readonly Set<string>[];

  /**
   * @param remembered the number of keys at once
   * @param now milliseconds of a clock that never jumps
   */
  constructor(
    private readonly attempts: number,
    private readonly seconds: number,
    private readonly remembered = REMEMBERED,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.#byAttempts = Array.from({ length: attempts + 1 }, () => new Set<string>());
  }

  /** Counts an attempt. @param of whose it is; hashed before it is kept @throws Problem `too_many_requests` */
  count(of: string): void {
    const key = hashed(of);
    const window = this.#demandBelowLimit(key);
    if (!window) return this.#remember(key);
    this.#byAttempts[window.attempts]!.delete(key);
    window.attempts += 1;
    this.#byAttempts[window.attempts]!.add(key);
  }

  /** Refuses as `count` would, and counts nothing. @throws Problem `too_many_requests` */
  check(of: string): void {
    this.#demandBelowLimit(hashed(of));
  }

  #demandBelowLimit(key: string): Window | undefined {
    this.#forgetEnded();
    const window = this.#windows.get(key);
    if (window?.attempts !== this.attempts) return window;
    const seconds = Math.max(1, Math.ceil((window.endsAt - this.now()) / 1000));
    throw problem('too_many_requests', {}, { 'retry-after': String(seconds) });
  }

  #remember(key: string): void {
    if (this.#windows.size >= this.remembered && !this.#forgetFewest()) return;
    this.#windows.set(key, { attempts: 1, endsAt: this.now() + this.seconds * 1000 });
    this.#byAttempts[1]!.add(key);
  }

  /** Makes room for one key. @returns false where all have reached the limit: then the new one is not remembered */
  #forgetFewest(): boolean {
    const fewest = this.#byAttempts.slice(0, this.attempts).find(({ size }) => size > 0);
    if (!fewest) return false;
    const [oldest] = fewest;
    this.#forget(oldest!);
    return true;
  }

  #forgetEnded(): void {
    const now = this.now();
    for (const [key, { endsAt }] of this.#windows) {
      if (endsAt > now) return;
      this.#forget(key);
    }
  }

  #forget(key: string): void {
    this.#byAttempts[this.#windows.get(key)!.attempts]!.delete(key);
    this.#windows.delete(key);
  }
}

function hashed(of: string): string {
  return createHmac('sha256', KEY).update(of).digest('base64url');
}
