import { hash } from 'node:crypto';

/** Returns the SHA-256 that is stored of a token (of a session, a sign-in link or a script). Tokens are random: no salt is needed. */
export function tokenHash(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
