import { hash } from 'node:crypto';

/** The stored hash of a sign-in token. The token is random, so it needs no salt. */
export function tokenHash(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
