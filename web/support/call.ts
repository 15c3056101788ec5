import { ask, isSignedOut } from '../shared/api.js';
import type { StaffSessionAnswer } from '../shared/api-types.js';

/** `ended`: the service knows this session no more. `resumed`: the same person has signed in again. `changed`: what they may do. */
export const session = new EventTarget();

let found: StaffSessionAnswer | undefined;
let looks = 0;
let answered = 0;

/** Looks who is signed in now. Throws as `ask` does. */
export async function findSession(): Promise<StaffSessionAnswer> {
  const mine = ++looks;
  const answer = await ask<StaffSessionAnswer>('GET', 'api/session');
  // One that comes late says nothing new.
  if (mine < answered) return found ?? answer;
  answered = mine;
  return (found = answer);
}

/** Asks the staff API, at an address below `api/`; tells the page where the session has ended. Throws as `ask` does. */
export async function call<T = undefined>(
  method: string,
  path: string,
  body?: object,
  headers?: Readonly<Record<string, string>>,
): Promise<T> {
  const before = found;
  try {
    return await ask<T>(method, `api/${path}`, body, headers);
  } catch (error) {
    if (!isSignedOut(error)) throw error;
    if (found === before) session.dispatchEvent(new Event('ended'));
    // It was asked with a session before the one found meanwhile. The action is not repeated, because another person may be signed in by now.
    else if (method === 'GET') return call(method, path);
    throw error;
  }
}
