import { createHmac } from 'node:crypto';
import type { DerivationInput } from './derivation-input.js';

/** The beginning of the input of the HMAC. No other HMAC with the same secret has this beginning. */
const DOMAIN_SEPARATOR = 'mooring staff link v2\0';

/**
 * Derives the secret in a mailed sign-in link of staff, 43 characters of base64url. Neither a table nor the mail job contains this
 * secret. A mail that is sent twice contains the same link. @param secret LICENSE_KEY_SECRET
 */
export function deriveStaffLink(secret: Buffer, { id, nonce }: DerivationInput): string {
  return createHmac('sha256', secret).update(DOMAIN_SEPARATOR).update(id).update(nonce).digest('base64url');
}
