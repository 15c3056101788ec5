import { createHmac, randomBytes } from 'node:crypto';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { problem } from './problem.js';

/** Forgotten with the process: what is counted cannot be told from the keys it is counted under. */
const KEY = randomBytes(32);

/** Counts attempts of one kind in memory, never by address (contract, Limits). */
export class RateLimit {
  readonly #limiter: RateLimiterMemory;

  constructor(attempts: number, seconds: number) {
    this.#limiter = new RateLimiterMemory({ points: attempts, duration: seconds });
  }

  /** Counts an attempt. @param of whose it is; hashed before it is kept @throws Problem `too_many_requests` */
  async count(of: string): Promise<void> {
    try {
      await this.#limiter.consume(createHmac('sha256', KEY).update(of).digest('base64url'));
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused;
      const seconds = Math.max(1, Math.ceil(refused.msBeforeNext / 1000));
      throw problem('too_many_requests', {}, { 'retry-after': String(seconds) });
    }
  }
}
