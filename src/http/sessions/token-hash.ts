import { hash } from 'node:crypto';

/** What a table keeps of a token that signs somebody in: random enough that no salt is needed. */
export function tokenHash(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
