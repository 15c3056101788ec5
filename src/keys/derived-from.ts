import { randomBytes } from 'node:crypto';

/**
 * What a row of the database adds to LICENSE_KEY_SECRET where a mailed secret is derived. The id is known to browsers and
 * operators; the nonce never leaves the server and its database (docs/decisions/0027).
 */
export interface DerivedFrom {
  /** A UUID in its canonical, lower-case form, as PostgreSQL writes it. */
  readonly id: string;
  readonly nonce: Buffer;
}

/** The nonce of a new row. */
export const newNonce = (): Buffer => randomBytes(32);
