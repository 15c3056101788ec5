import { isBusy, parseRetryAfter } from './retry-after.js';
import type { Clock, Timers } from './time.js';
import { isLoopback } from './web-address.js';

/** The part of a response that the client reads. */
type Reply = Pick<Response, 'status' | 'headers' | 'body'>;
export type Fetch = (url: string, init: RequestInit) => Promise<Reply>;

export interface TransportDependencies {
  fetch: Fetch;
  clock: Clock;
  timers: Timers;
  /** Aborted when the client closes. */
  signal: AbortSignal;
}

/** A complete response. Its content is not yet validated. */
export interface Answer {
  kind: 'answer';
  status: number;
  /** The media type in lower case, without parameters. */
  media_type: string;
  etag: string | null;
  text: string;
  retry_after_seconds: number | undefined;
}

/** What was received of a response that is not complete or not valid. */
interface Received {
  /** Whether response headers were received. */
  hasResponse: boolean;
  retry_after_seconds: number | undefined;
}

/** The result of a call without a complete and valid response. */
export interface NoAnswer extends Received {
  kind: 'no_answer';
  /** A fixed text (with the status, if `answers.ts` refused the response), or an error code of the system; never received text. */
  reason: string;
}

const NOTHING: Received = { hasResponse: false, retry_after_seconds: undefined };

export interface Call {
  method: 'GET' | 'POST';
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
}

export const CALL_TIMEOUT_MS = 10_000;
export const ANSWER_LIMIT_BYTES = 256 * 1024;

/**
 * Makes calls, each limited to ten seconds and 256 KiB. They follow no redirect, send no cookie and use no cache. `call`
 * never throws.
 */
export class Transport {
  readonly #baseUrl: string;
  readonly #dependencies: TransportDependencies;

  constructor(baseUrl: string, dependencies: TransportDependencies) {
    this.#baseUrl = checkBaseUrl(baseUrl);
    this.#dependencies = dependencies;
  }

  async call(call: Call): Promise<Answer | NoAnswer> {
    const { timers, signal } = this.#dependencies;
    const abort = new AbortController();
    let end!: (reason: string) => void;
    const received = { ...NOTHING };
    const ended = new Promise<NoAnswer>((resolve) => (end = (reason) => resolve(noAnswer(reason, received))));
    const close = () => end('closed');
    const timer = timers.set(() => end('timeout'), CALL_TIMEOUT_MS);
    signal.addEventListener('abort', close);
    if (signal.aborted) close();
    try {
      // The race ends the call even if `fetch` ignores its signal.
      return await Promise.race([ended, this.#exchange(call, abort.signal, received)]);
    } finally {
      timers.clear(timer);
      signal.removeEventListener('abort', close);
      abort.abort();
    }
  }

  async #exchange(call: Call, signal: AbortSignal, received: Received): Promise<Answer | NoAnswer> {
    try {
      const response = await this.#dependencies.fetch(this.#baseUrl + call.path, requestOf(call, signal));
      const retry_after_seconds = parseRetryAfter(response, this.#dependencies.clock.now());
      received.hasResponse = true;
      if (isBusy(response.status)) received.retry_after_seconds = retry_after_seconds;
      // The API never sends a redirect, but a captive portal does. Some platforms give a redirect the status 0.
      if (
        response.status < 200 ||
        (response.status >= 300 && response.status < 400 && response.status !== 304)
      )
        return noAnswer('redirect', received);
      const bytes = await readBounded(response);
      if (bytes === undefined) return noAnswer('answer too large', received);
      const text = decodeUtf8(bytes);
      if (text === undefined) return noAnswer('answer not UTF-8', received);
      return {
        kind: 'answer',
        status: response.status,
        media_type: (response.headers.get('content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase(),
        etag: response.headers.get('etag'),
        text,
        retry_after_seconds,
      };
    } catch (error) {
      return noAnswer(received.hasResponse ? 'cut answer' : reasonOf(error), received);
    }
  }
}

/** License keys are not sent unencrypted: plain http is allowed only for a service on the same machine. */
function checkBaseUrl(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (!url || (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url))))
    throw new Error('baseUrl must be a URL with https, or with http on a loopback address');
  // `url.search` and `url.hash` are empty for a URL that ends with `?` or `#`, so `href` is tested. The path of a call would
  // otherwise become a part of the query or of the fragment.
  if (url.username || url.password || /[?#]/.test(url.href))
    throw new Error('baseUrl must hold no credential, query or fragment');
  return url.href.replace(/\/+$/, '');
}

function requestOf(call: Call, signal: AbortSignal): RequestInit {
  const headers: Record<string, string> = {
    accept: 'application/json, application/problem+json',
    // All machines send the same text, so that it identifies no machine.
    'user-agent': 'mooring-client',
    // If a heartbeat and the read of the manifest shared a connection, it would show which license reads the manifest.
    connection: 'close',
    ...call.headers,
  };
  const request: RequestInit = {
    method: call.method,
    headers,
    signal,
    redirect: 'manual',
    credentials: 'omit',
    // The cache of a platform's `fetch` is on the disk, and an etag in it could identify the computer.
    cache: 'no-store',
  };
  if (call.body === undefined) return request;
  headers['content-type'] = 'application/json';
  return { ...request, body: JSON.stringify(call.body) };
}

/** Reads the body. @returns undefined if it is too large */
async function readBounded(response: Reply): Promise<Uint8Array | undefined> {
  if (!response.body) return new Uint8Array();
  const reader = response.body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.byteLength;
    if (size > ANSWER_LIMIT_BYTES) {
      reader.cancel().catch(() => {});
      return undefined;
    }
    chunks.push(value);
  }
  return Buffer.concat(chunks);
}

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

export function noAnswer(reason: string, received: Received = NOTHING): NoAnswer {
  return { kind: 'no_answer', reason, ...received };
}

/** Returns only the error code of the system: messages contain addresses, which must not be logged. */
function reasonOf(error: unknown): string {
  const code = (error as { cause?: { code?: unknown } } | null | undefined)?.cause?.code;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,40}$/.test(code) ? code : 'no connection';
}
