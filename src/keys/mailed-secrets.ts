import { createHmac, randomBytes } from 'node:crypto';

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

/** The beginnings of the input of the HMACs. No other HMAC with the same secret has one of them. */
const CODE_SEPARATOR = 'mooring sign-in code v2\0';
const LINK_SEPARATOR = 'mooring staff link v2\0';
/** The number of codes of 8 digits. */
const CODE_COUNT = 10n ** 8n;

/**
 * Derives the 8 digits of a sign-in code. Neither the code nor a hash of the code is stored: a hash could be compared with the
 * hashes of all codes within seconds. A mail that is sent twice contains the same code. @param secret LICENSE_KEY_SECRET
 */
export function deriveSignInCode(secret: Buffer, { id, nonce }: DerivationInput): string {
  const digest = createHmac('sha256', secret).update(CODE_SEPARATOR).update(id).update(nonce).digest('hex');
  // The remainder of a number of 256 bits, divided by one of 27 bits, has no measurable bias.
  return String(BigInt(`0x${digest}`) % CODE_COUNT).padStart(8, '0');
}

/**
 * Derives the secret in a mailed sign-in link of staff, 43 characters of base64url. Neither a table nor the mail job contains this
 * secret. A mail that is sent twice contains the same link. @param secret LICENSE_KEY_SECRET
 */
export function deriveStaffLink(secret: Buffer, { id, nonce }: DerivationInput): string {
  return createHmac('sha256', secret).update(LINK_SEPARATOR).update(id).update(nonce).digest('base64url');
}
