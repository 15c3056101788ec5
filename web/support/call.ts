import {
  ask,
  askForSession,
  isOffline,
  isSignedOut,
  ServiceUnavailable,
  type RequestOptions,
} from '../shared/api/api.js';
import type { StaffSessionAnswer } from '../../src/http/responses/api-types.js';

/**
 * `ended`: a request was refused because the session has ended. `resumed`: the same person has signed in again. `changed`: the
 * signed-in person has another role now, or another person has signed in. `unanswered`: an action may have been carried out,
 * because only its answer may have been lost.
 */
export const sessionEvents = new EventTarget();

let current: StaffSessionAnswer | undefined;
let requestCount = 0;
let newestAnswered = 0;

/** The id of the signed-in person, as far as the page knows; undefined after a sign-out. */
export const staffId = () => current?.id;

/** Asks the service who is signed in. Throws as `askForSession` does. */
export async function findSession(): Promise<StaffSessionAnswer> {
  const requestNumber = ++requestCount;
  const answer = await askForSession<StaffSessionAnswer>();
  // An answer is outdated if a later request was answered before it. After a sign-out `current` is undefined, and `useSession`
  // ignores the answer.
  if (requestNumber < newestAnswered) return current ?? answer;
  newestAnswered = requestNumber;
  return (current = answer);
}

/** Forgets who was signed in, after a sign-out. */
export function forgetSession(): void {
  current = undefined;
  // The answer to an earlier request would bring the person back.
  newestAnswered = ++requestCount;
}

/**
 * Sends a request to the staff API, to a path below `api/`. If it is refused because its session has ended, this
 * dispatches `ended`. If a newer session was read meanwhile, it dispatches nothing and sends a GET again. If an action gets no
 * answer, it dispatches `unanswered`, except for a decision (`keepalive`), after which `decide.ts` loads the views again. Throws as
 * `ask` does.
 */
export async function call<T = undefined>(
  method: string,
  path: string,
  body?: object,
  options?: RequestOptions,
): Promise<T> {
  const isRead = method === 'GET';
  try {
    return await watchSession(() => ask<T>(method, `api/${path}`, body, options), isRead);
  } catch (error) {
    if (!isRead && !options?.keepalive && isUnanswered(error))
      sessionEvents.dispatchEvent(new Event('unanswered'));
    throw error;
  }
}

/** Checks that the session has not ended. Dispatches and throws as `call` does. */
export const requireSession = () => watchSession(() => askForSession<StaffSessionAnswer>(), true);

/** Whether the request may have been carried out, because only its answer may have been lost. */
export const isUnanswered = (error: unknown) => error instanceof ServiceUnavailable && !isOffline(error);

async function watchSession<T>(request: () => Promise<T>, isRepeatable: boolean): Promise<T> {
  const before = current;
  try {
    return await request();
  } catch (error) {
    if (!isSignedOut(error)) throw error;
    if (current === before) sessionEvents.dispatchEvent(new Event('ended'));
    // The request was sent with an earlier session. An action is not repeated, because another person may be signed in by now.
    else if (isRepeatable) return watchSession(request, isRepeatable);
    throw error;
  }
}
