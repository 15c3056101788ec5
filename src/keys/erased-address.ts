import { createHmac } from 'node:crypto';

/** The input from which the key of this hash is derived. No other use of the secret has the same input. */
const DOMAIN_SEPARATOR = 'mooring erased address v1\0';

/**
 * Returns the keyed hash by which an erased e-mail address is recognized after a restore, as 64 hex digits: HMAC-SHA256 with a
 * key that is derived from LICENSE_KEY_SECRET for this use only (docs/decisions/0024).
 * @param secret LICENSE_KEY_SECRET @param email in the form of `canonicalEmail`
 */
export function hashErasedAddress(secret: Buffer, email: string): string {
  const key = createHmac('sha256', secret).update(DOMAIN_SEPARATOR).digest();
  return createHmac('sha256', key).update(email).digest('hex');
}
