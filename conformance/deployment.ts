import { createHash, randomUUID } from 'node:crypto';
import { ask, NoAnswer, type Answer, type RequestOptions } from './http.ts';
import { NotChecked } from './not-checked.ts';

export interface License {
  readonly license_key: string;
  readonly email: string;
}

/** The id of the machine that is activated. It is the same in every run, so that repeated runs count as one machine. */
export const MACHINE_ID = createHash('sha256').update('mooring conformance').digest('hex');
/** The label that the portal shows. */
export const HOSTNAME_HINT = 'Conformance check';
/** A text that is not a token. It is random, so a refusal contains it only if it repeats the request, which a check forbids. */
export const NOT_A_TOKEN = randomUUID();
/** A version that is never published, so that no license is refused because of it. */
export const APP_VERSION = '0.0.0.1';

/** After this number of requests without an answer, the remaining requests are not sent. */
const MAX_UNANSWERED = 3;

/** The service to be checked, the license for the checks, and all answers so far. */
export class Deployment {
  readonly url: string;
  readonly license: License;
  readonly answers: Answer[] = [];
  readonly #timeoutMs: number;
  #unanswered = 0;

  /** @param url without a slash at its end */
  constructor(url: string, license: License, timeoutMs = 10_000) {
    this.url = url;
    this.license = license;
    this.#timeoutMs = timeoutMs;
  }

  /** Sends a request and keeps the answer. @throws NoAnswer, or NotChecked after MAX_UNANSWERED requests without an answer */
  async ask(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    if (this.#unanswered >= MAX_UNANSWERED) throw new NotChecked('the service no longer answers');
    try {
      const answer = await this.send(method, path, options);
      this.answers.push(answer);
      return answer;
    } catch (error) {
      if (error instanceof NoAnswer) this.#unanswered += 1;
      throw error;
    }
  }

  protected send(method: string, path: string, options: RequestOptions): Promise<Answer> {
    return ask(this.url, method, path, options, this.#timeoutMs);
  }

  /** Activates the machine of the run with changed members; undefined leaves a member out. */
  activate(change: Record<string, unknown> = {}): Promise<Answer> {
    const defaults = { ...this.license, machine_id: MACHINE_ID, hostname_hint: HOSTNAME_HINT };
    return this.ask('POST', '/v1/activate', { body: { ...defaults, app_version: APP_VERSION, ...change } });
  }

  /** Sends a heartbeat with additional or changed members. */
  heartbeat(token: unknown, more: Record<string, unknown> = {}): Promise<Answer> {
    return this.ask('POST', '/v1/heartbeat', { body: { token, app_version: APP_VERSION, ...more } });
  }
}
