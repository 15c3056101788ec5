/** Longer than the service itself takes to give up. */
const PATIENCE_MS = 30_000;

/** The service said no, in a problem document (RFC 9457). */
export class Refused extends Error {
  constructor(
    readonly status: number,
    /** `unknown` where the answer was no problem document of ours. */
    readonly code: string,
    /** A sentence for people; empty where there is none. */
    readonly detail: string,
    /** What the problem says beyond that, such as `errors` or `reason`. */
    readonly members: Readonly<Record<string, unknown>> = {},
  ) {
    super(code);
  }
}

/** Nothing that could answer was reached: no network, or the service is away. Worth another try. */
export class ServerAway extends Error {}

/**
 * Asks the service, at an address relative to the page (`api/licenses`).
 * @returns the parsed answer, undefined where it has no body
 * @throws Refused, ServerAway
 */
export async function ask<T = undefined>(method: string, path: string, body?: object): Promise<T> {
  const answer = await send(method, path, body);
  const text = await answer.text().catch(away);
  if (!answer.ok) throw refusal(answer.status, text);
  if (text === '') return undefined as T;
  // The page of somebody in between, such as the network of a hotel: the service was not reached.
  return (parsed(text) ?? away()) as T;
}

/** Whether it says that nobody is signed in (any more). */
export const isSignedOut = (error: unknown) => error instanceof Refused && error.status === 401;

async function send(method: string, path: string, body?: object): Promise<Response> {
  return fetch(path, {
    method,
    headers: body ? { 'content-type': 'application/json' } : {},
    body: body ? JSON.stringify(body) : null,
    signal: AbortSignal.timeout(PATIENCE_MS),
  }).catch(away);
}

function away(): never {
  throw new ServerAway();
}

function refusal(status: number, text: string): Error {
  const { code, detail, ...members } = parsed(text) ?? {};
  // What stands in front of the service answers so while it is away; the service itself says `unavailable`.
  if ([502, 503, 504].includes(status)) return new ServerAway();
  if (typeof code !== 'string') return new Refused(status, 'unknown', '');
  return new Refused(status, code, typeof detail === 'string' ? detail : '', members);
}

/** Null where it is no JSON. */
function parsed(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text) as Record<string, unknown> | null;
  } catch {
    return null;
  }
}
