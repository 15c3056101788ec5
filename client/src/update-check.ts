import { parseObject } from './json.js';
import type { TrustedKey } from './manifest-signature.js';
import type { Store } from './store.js';
import type { Answer, Transport, NoAnswer } from './transport.js';
import { checkManifest, type NoUpdateReason, type UpdateCheck } from './update.js';

export interface UpdateDependencies {
  transport: Transport;
  store: Store;
  trusted: TrustedKey[];
  product: string;
  app_version: string;
  /**
   * The later of the wall clock and the time seen, in milliseconds since 1970. The time seen alone would follow `server_time`:
   * a false service that replays an old manifest could send an old time with it, and the manifest would never expire.
   */
  now(): number;
  log(message: string): void;
}

/** A text that fails with one of these reasons is not kept in the cache. */
const NOT_CACHED: readonly NoUpdateReason[] = ['malformed', 'untrusted'];

/** Fetches the manifest and checks it. Any failure is "no update available" (docs/keys.md#manifests). */
export class UpdateChecker {
  /**
   * The last manifest, with its etag for `if-none-match`. It is kept in memory only: the server chooses the etag, and could
   * recognize the computer by an etag that is stored.
   */
  #cached: { etag: string; text: string } | undefined;
  #checking: Promise<UpdateCheck> | undefined;
  readonly #dependencies: UpdateDependencies;

  constructor(dependencies: UpdateDependencies) {
    this.#dependencies = dependencies;
  }

  /** Simultaneous calls share one fetch. */
  check(): Promise<UpdateCheck> {
    this.#checking ??= this.#check().finally(() => (this.#checking = undefined));
    return this.#checking;
  }

  async #check(): Promise<UpdateCheck> {
    const headers: Record<string, string> = this.#cached ? { 'if-none-match': this.#cached.etag } : {};
    const answer = await this.#dependencies.transport.call({ method: 'GET', path: '/v1/manifest', headers });
    const text = answer.kind === 'answer' ? this.#textOf(answer) : undefined;
    const check: UpdateCheck =
      text === undefined ? { available: false, reason: failureOf(answer) } : await this.#checkManifest(text);
    if (check.available) return check;
    // The text may be cut but have the etag of the whole manifest. If it stayed in the cache, each later answer would be a 304.
    if (NOT_CACHED.includes(check.reason)) this.#cached = undefined;
    this.#logReason(check.reason);
    return check;
  }

  async #checkManifest(text: string): Promise<UpdateCheck> {
    const { store, trusted, product, app_version, now } = this.#dependencies;
    await store.readSequences();
    // Coverage depends on the current license, which may have changed since the manifest was cached.
    const license_expires_at = store.state.license?.expires_at;
    const running = { product, app_version, license_expires_at, now: now() };
    const { check, sequences } = checkManifest(text, trusted, store.state.sequences, running);
    if (sequences !== store.state.sequences) await store.save({ sequences });
    // The state that could not be read may have a higher sequence, which rules this manifest out, or a license that covers more.
    const isUndecided = store.isUnread && (check.available || check.reason === 'not_covered');
    return isUndecided ? { available: false, reason: 'state_unreadable' } : check;
  }

  #logReason(reason: NoUpdateReason): void {
    const { log } = this.#dependencies;
    if (reason === 'equivocation')
      log(
        'EQUIVOCATION: two different manifests were signed under one sequence number; no update is offered',
      );
    else if (reason !== 'up_to_date') log(`no update available: ${reason}`);
  }

  #textOf({ status, etag, text }: Answer): string | undefined {
    if (status === 304) return this.#cached?.text;
    if (status !== 200) return undefined;
    // Only a strong etag of printable characters, at most 128 of them, is sent back.
    this.#cached = etag !== null && /^"[\x21\x23-\x7e]{1,128}"$/.test(etag) ? { etag, text } : undefined;
    return text;
  }
}

function failureOf(answer: Answer | NoAnswer): NoUpdateReason {
  const isNothingPublished =
    answer.kind === 'answer' &&
    answer.status === 404 &&
    parseObject(answer.text)?.['code'] === 'no_version_published';
  return isNothingPublished ? 'no_version_published' : 'unreachable';
}
