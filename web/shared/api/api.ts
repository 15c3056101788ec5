import { noteServiceTime } from '../dates/service-time.js';
import { noteNoResponse, noteResponse } from './connection.js';

/** The timeout of a request. It is longer than each time limit in src/database/request-timeouts.ts. */
const RESPONSE_TIMEOUT_MS = 30_000;

export interface RequestOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the browser completes the request even if the page is left meanwhile. */
  readonly keepalive?: boolean;
}

/**
 * The answer to a request was an error: as a rule, a problem document of the service (RFC 9457). The pages also throw it without
 * such an answer, with the status and the code that fit.
 */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    /** `unknown` if the answer was not a problem document of the service. */
    readonly code: string,
    /** A sentence to show; may be empty. */
    readonly detail: string,
    /** The other members of the problem, such as `errors` or `reason`. */
    readonly members: Readonly<Record<string, unknown>> = {},
  ) {
    super(code);
  }
}

/**
 * The service did not answer: no network, or the service is unavailable. It may have carried out the request nevertheless. The
 * request can be repeated.
 */
export class ServiceUnavailable extends Error {
  constructor(
    /** Whether the reason is that this device had no connection. */
    readonly isOffline: boolean,
  ) {
    super();
  }
}

/**
 * Sends a request to an address relative to the page (`api/licenses`).
 * @returns the parsed answer, undefined if it has no body
 * @throws ApiError, ServiceUnavailable
 */
export async function ask<T = undefined>(
  method: string,
  path: string,
  body?: object,
  options: RequestOptions = {},
): Promise<T> {
  const answer = await send(method, path, body, options);
  noteResponse();
  // Other answers may come from the cache, with the time at which they were sent.
  if (path.startsWith('api/')) noteServiceTime(answer.headers.get('date'));
  const text = await answer.text().catch(throwUnavailable);
  if (!answer.ok) throw errorOf(answer.status, text);
  // An empty 200 does not come from the service, so it is handled below like a text that is not JSON.
  if (text === '' && answer.status !== 200) return undefined as T;
  // A text that is not JSON comes from the network, such as the sign-in page of a hotel: the service was not reached.
  const data = parseJson(text);
  if (!data) throw new ServiceUnavailable(false);
  return data as T;
}

/** Whether an error means that this device had no connection. */
export const isOffline = (error: unknown) => error instanceof ServiceUnavailable && error.isOffline;

/**
 * Asks for the session of this browser. The answer is 204 without one, because the browser would log a 401 as an error.
 * @throws ApiError (without a session it has the status 401), ServiceUnavailable
 */
export async function askForSession<T extends object>(): Promise<T> {
  const session = await ask<T | undefined>('GET', 'api/session');
  if (!session) throw new ApiError(401, 'sign_in_required', '');
  return session;
}

/** Whether an error means that there is no session, or that it has ended. */
export const isSignedOut = (error: unknown) => error instanceof ApiError && error.status === 401;

async function send(
  method: string,
  path: string,
  body: object | undefined,
  { headers, keepalive = false }: RequestOptions,
): Promise<Response> {
  return fetch(path, {
    method,
    keepalive,
    headers: {
      ...(body && { 'content-type': 'application/json' }),
      // A mail that an action in the portal causes is in the language of the page. A GET does not set this header: with it, the
      // browser would not use the response that the HTML file preloads.
      ...(method !== 'GET' && { 'accept-language': document.documentElement.lang }),
      ...headers,
    },
    body: body ? JSON.stringify(body) : null,
    signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS),
  }).catch(throwUnavailable);
}

function throwUnavailable(): never {
  throw new ServiceUnavailable(noteNoResponse());
}

function errorOf(status: number, text: string): Error {
  const { code, detail, ...members } = parseJson(text) ?? {};
  // A proxy answers with one of these statuses while the service is unavailable. The service itself answers 503 `unavailable`.
  if ([502, 503, 504].includes(status)) return new ServiceUnavailable(false);
  if (typeof code !== 'string') return new ApiError(status, 'unknown', '');
  return new ApiError(status, code, typeof detail === 'string' ? detail : '', members);
}

/** @returns null if the text is not JSON */
function parseJson(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text) as Record<string, unknown> | null;
  } catch {
    return null;
  }
}
