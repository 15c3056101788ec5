import { hash } from 'node:crypto';

/**
 * Returns the SHA-256 that the database stores in place of a token (of a session, a sign-in link or a script) or of a release hint.
 * No salt is needed, because neither can be guessed.
 */
export function tokenHash(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
