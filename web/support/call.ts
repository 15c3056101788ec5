import { ask, isSignedOut } from '../shared/api.js';

/** `ended`: the service knows this session no more. `resumed`: the same person has signed in again. `changed`: what they may do. */
export const session = new EventTarget();

/** Asks the staff API, at an address below `api/`; tells the page where the session has ended. Throws as `ask` does. */
export async function call<T = undefined>(method: string, path: string, body?: object): Promise<T> {
  try {
    return await ask<T>(method, `api/${path}`, body);
  } catch (error) {
    if (isSignedOut(error)) session.dispatchEvent(new Event('ended'));
    throw error;
  }
}
