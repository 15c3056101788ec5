import { randomBytes } from 'node:crypto';

/**
 * The columns of a row from which, with LICENSE_KEY_SECRET, a mailed secret is derived: a sign-in code or a sign-in link. The
 * browser or an operator may know the id; the nonce never leaves the service and its database (docs/decisions/0027).
 */
export interface DerivationInput {
  /** A UUID in its canonical, lower-case form, as PostgreSQL writes it. */
  readonly id: string;
  readonly nonce: Buffer;
}

/** Creates the nonce of a new row. */
export const newNonce = (): Buffer => randomBytes(32);
