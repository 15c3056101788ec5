import { parseRetryAfter } from './retry-after.js';
import type { Clock, Timers } from './time.js';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface TransportPorts {
  fetch: Fetch;
  clock: Clock;
  timers: Timers;
  /** Aborted when the client closes. */
  signal: AbortSignal;
}

/** A whole answer, read to its end. Nothing in it is believed yet. */
export interface Answer {
  kind: 'answer';
  status: number;
  /** The media type alone, in lower case, without parameters. */
  media_type: string;
  etag: string | null;
  text: string;
  retry_after_seconds: number | undefined;
}

/** Everything else that can happen to a call. */
export interface Unreachable {
  kind: 'unreachable';
  /** A few fixed words or an error code of the system's, never what was received. */
  reason: string;
  /** Whether anything answered at all. */
  answered: boolean;
  retry_after_seconds: number | undefined;
}

export interface Call {
  method: 'GET' | 'POST';
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
}

export const CALL_TIMEOUT_MS = 10_000;
export const ANSWER_LIMIT_BYTES = 256 * 1024;

/** Makes one call within its bounds: ten seconds, 256 KiB, no redirect followed, no cookie, no credential. Never throws. */
export class Transport {
  readonly #base: string;
  readonly #ports: TransportPorts;

  constructor(baseUrl: string, ports: TransportPorts) {
    this.#base = checkedBase(baseUrl);
    this.#ports = ports;
  }

  async call(call: Call): Promise<Answer | Unreachable> {
    const { timers, signal } = this.#ports;
    const abort = new AbortController();
    let end!: (reason: string) => void;
    const ended = new Promise<Unreachable>((resolve) => (end = (reason) => resolve(unreachable(reason))));
    const close = () => end('closed');
    const timer = timers.set(() => end('timeout'), CALL_TIMEOUT_MS);
    signal.addEventListener('abort', close);
    if (signal.aborted) close();
    try {
      // A race, so that even a fetch that ignores its signal blocks no caller.
      return await Promise.race([ended, this.#exchange(call, abort.signal)]);
    } finally {
      timers.clear(timer);
      signal.removeEventListener('abort', close);
      abort.abort();
    }
  }

  async #exchange(call: Call, signal: AbortSignal): Promise<Answer | Unreachable> {
    let response: Response | undefined;
    try {
      response = await this.#ports.fetch(this.#base + call.path, requestOf(call, signal));
      // A redirect is how a captive portal answers; the service never sends one.
      if (
        response.status < 200 ||
        (response.status >= 300 && response.status < 400 && response.status !== 304)
      )
        return unreachable('redirect', true);
      const text = await readBounded(response);
      if (text === undefined) return unreachable('answer too large', true);
      return {
        kind: 'answer',
        status: response.status,
        media_type: (response.headers.get('content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase(),
        etag: response.headers.get('etag'),
        text,
        retry_after_seconds: parseRetryAfter(response, this.#ports.clock.now()),
      };
    } catch (error) {
      return unreachable(response ? 'cut answer' : reasonOf(error), response !== undefined);
    }
  }
}

/** License keys do not travel in the clear: plain http is for a service on this very machine. */
function checkedBase(baseUrl: string): string {
  const url = new URL(baseUrl);
  const loopback = /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/.test(url.host);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && loopback))
    throw new Error('baseUrl must be https, or http on a loopback address');
  if (url.username || url.password || url.search || url.hash)
    throw new Error('baseUrl must hold no credential, query or fragment');
  return url.href.replace(/\/+$/, '');
}

function requestOf(call: Call, signal: AbortSignal): RequestInit {
  const headers: Record<string, string> = {
    accept: 'application/json, application/problem+json',
    // The same text on all machines, so that it does not identify one.
    'user-agent': 'mooring-client',
    // A connection shared by heartbeat and manifest would tell who reads the manifest.
    connection: 'close',
    ...call.headers,
  };
  const request: RequestInit = {
    method: call.method,
    headers,
    signal,
    redirect: 'manual',
    credentials: 'omit',
  };
  if (call.body === undefined) return request;
  headers['content-type'] = 'application/json';
  return { ...request, body: JSON.stringify(call.body) };
}

async function readBounded(response: Response): Promise<string | undefined> {
  if (!response.body) return '';
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
  return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
}

export function unreachable(reason: string, answered = false): Unreachable {
  return { kind: 'unreachable', reason, answered, retry_after_seconds: undefined };
}

/** The system's error code alone: messages name addresses, and a log must not. */
function reasonOf(error: unknown): string {
  const code = (error as { cause?: { code?: unknown } } | null | undefined)?.cause?.code;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,40}$/.test(code) ? code : 'no connection';
}
