import { hash } from 'node:crypto';

/** Hashes the token of a session, a sign-in link or a script, to store it. Tokens are random, so no salt is needed. */
export function tokenHash(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
