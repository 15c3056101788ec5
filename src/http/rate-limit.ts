import { createHmac, randomBytes } from 'node:crypto';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { problem } from './problem.js';

/** Forgotten with the process: what is counted cannot be told from the keys it is counted under. */
const KEY = randomBytes(32);

/** Of each kind: some 50 MB at most. */
const REMEMBERED = 50_000;

/** Counts attempts of one kind in memory, never by address (contract, Limits). */
export class RateLimit {
  readonly #limiter: RateLimiterMemory;
  /** The oldest first. */
  readonly #counted = new Set<string>();

  /** @param remembered of how many the attempts are counted; whoever floods us makes it forget, and not grow */
  constructor(
    attempts: number,
    private readonly seconds: number,
    private readonly remembered = REMEMBERED,
  ) {
    this.#limiter = new RateLimiterMemory({ points: attempts, duration: seconds });
  }

  /** Counts an attempt. @param of whose it is; hashed before it is kept @throws Problem `too_many_requests` */
  async count(of: string): Promise<void> {
    const key = createHmac('sha256', KEY).update(of).digest('base64url');
    try {
      await this.#limiter.consume(key);
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused;
      // By the wall clock: one that was set back meanwhile would ask for a year.
      const seconds = Math.min(this.seconds, Math.max(1, Math.ceil(refused.msBeforeNext / 1000)));
      throw problem('too_many_requests', {}, { 'retry-after': String(seconds) });
    } finally {
      await this.remember(key);
    }
  }

  private async remember(key: string): Promise<void> {
    this.#counted.add(key);
    if (this.#counted.size <= this.remembered) return;
    const [oldest] = this.#counted;
    this.#counted.delete(oldest!);
    await this.#limiter.delete(oldest!);
  }
}
