import { randomBytes } from 'node:crypto';

/**
 * The inputs from a row of the database that a mailed secret is derived from, with LICENSE_KEY_SECRET. Browsers and
 * operators know the id; the nonce never leaves the server and its database (docs/decisions/0027).
 */
export interface DerivationInput {
  /** A UUID in its canonical, lower-case form, as PostgreSQL writes it. */
  readonly id: string;
  readonly nonce: Buffer;
}

/** Creates the nonce of a new row. */
export const newNonce = (): Buffer => randomBytes(32);
