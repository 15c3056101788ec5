import { parseObject } from './believe.js';
import type { TrustedKey } from './manifest-signature.js';
import type { Store } from './store.js';
import type { Answer, Transport, Unreachable } from './transport.js';
import { judgeManifest, type NoUpdateReason, type UpdateCheck } from './update.js';

export interface UpdatePorts {
  transport: Transport;
  store: Store;
  trusted: TrustedKey[];
  product: string;
  app_version: string;
  now(): number;
  log(message: string): void;
}

/** Fetches the manifest and judges it. Any failure is "no update available" (docs/keys.md#manifests). */
export class UpdateChecker {
  /**
   * The last answer, for `if-none-match`. In memory alone: an etag is chosen by the server, and one that outlived the
   * run could be made to tell computers apart.
   */
  #kept: { etag: string; text: string } | undefined;
  #checking: Promise<UpdateCheck> | undefined;
  readonly #ports: UpdatePorts;

  constructor(ports: UpdatePorts) {
    this.#ports = ports;
  }

  /** Two calls at once share one fetch. */
  check(): Promise<UpdateCheck> {
    this.#checking ??= this.#check().finally(() => (this.#checking = undefined));
    return this.#checking;
  }

  async #check(): Promise<UpdateCheck> {
    const headers: Record<string, string> = this.#kept ? { 'if-none-match': this.#kept.etag } : {};
    const answer = await this.#ports.transport.call({ method: 'GET', path: '/v1/manifest', headers });
    const text = answer.kind === 'answer' ? this.#textOf(answer) : undefined;
    const check = text === undefined ? none(failureOf(answer)) : await this.#judge(text);
    if (!check.available) this.#say(check.reason);
    return check;
  }

  async #judge(text: string): Promise<UpdateCheck> {
    const { store, trusted, product, app_version, now } = this.#ports;
    // Whatever the license is at this moment: the same manifest may be covered today and not tomorrow.
    const license_expires_at = store.state.license?.expires_at;
    const running = { product, app_version, license_expires_at, now: now() };
    const { check, sequences } = judgeManifest(text, trusted, store.state.sequences, running);
    if (sequences !== store.state.sequences) await store.save({ sequences });
    return check;
  }

  #say(reason: NoUpdateReason): void {
    const { log } = this.#ports;
    if (reason === 'equivocation')
      log(
        'EQUIVOCATION: two different manifests were signed under one sequence number; no update is offered',
      );
    else if (reason !== 'up_to_date') log(`no update available: ${reason}`);
  }

  #textOf({ status, etag, text }: Answer): string | undefined {
    if (status === 304) return this.#kept?.text;
    if (status !== 200) return undefined;
    this.#kept = etag !== null && /^"[\x21\x23-\x7e]{1,128}"$/.test(etag) ? { etag, text } : undefined;
    return text;
  }
}

function failureOf(answer: Answer | Unreachable): NoUpdateReason {
  const nothing =
    answer.kind === 'answer' &&
    answer.status === 404 &&
    parseObject(answer.text)?.['code'] === 'no_version_published';
  return nothing ? 'no_version_published' : 'unreachable';
}

function none(reason: NoUpdateReason): UpdateCheck {
  return { available: false, reason };
}
