import { createHash } from 'node:crypto';
import { NotChecked } from './check.ts';
import { ask, NoAnswer, type Answer, type Question } from './http.ts';

export interface License {
  readonly license_key: string;
  readonly email: string;
}

/** The one machine that is activated: the same in every run, so that it takes one seat for good. */
export const MACHINE_ID = createHash('sha256').update('mooring conformance').digest('hex');
/** What a person reads in the portal. */
export const HOSTNAME_HINT = 'Conformance check';
/** It is never published, so no license is refused for it. */
export const APP_VERSION = '0.0.0.1';

/** After so many requests without an answer, the rest is not worth the wait. */
const MOST_UNANSWERED = 3;

/** The service under examination, the license it is examined with, and all that it has answered. */
export class Deployment {
  readonly url: string;
  readonly license: License;
  readonly answers: Answer[] = [];
  readonly #timeoutMs: number;
  #unanswered = 0;

  /** `url` without a slash at its end. */
  constructor(url: string, license: License, timeoutMs = 10_000) {
    this.url = url;
    this.license = license;
    this.#timeoutMs = timeoutMs;
  }

  async ask(method: string, path: string, question: Question = {}): Promise<Answer> {
    if (this.#unanswered >= MOST_UNANSWERED) throw new NotChecked('the service no longer answers');
    try {
      const answer = await ask(this.url, method, path, question, this.#timeoutMs);
      this.answers.push(answer);
      return answer;
    } catch (error) {
      if (error instanceof NoAnswer) this.#unanswered += 1;
      throw error;
    }
  }

  /** Activates the machine of every run, but for what `change` says; undefined leaves a member out. */
  activate(change: Record<string, unknown> = {}): Promise<Answer> {
    const usual = { ...this.license, machine_id: MACHINE_ID, hostname_hint: HOSTNAME_HINT };
    return this.ask('POST', '/v1/activate', { body: { ...usual, app_version: APP_VERSION, ...change } });
  }

  heartbeat(token: unknown, more: Record<string, unknown> = {}): Promise<Answer> {
    return this.ask('POST', '/v1/heartbeat', { body: { token, app_version: APP_VERSION, ...more } });
  }
}
