import { createHmac } from 'node:crypto';
import type { DerivationInput } from './derived-from.js';

/** Separates these HMACs from those of other values under the same secret. */
const DOMAIN_SEPARATOR = 'mooring staff link v2\0';

/**
 * Derives the secret of a mailed sign-in link, 43 characters. Neither a table nor the mail job contains it. A mail that is
 * sent twice has the same link. @param secret LICENSE_KEY_SECRET
 */
export function deriveStaffLink(secret: Buffer, { id, nonce }: DerivationInput): string {
  return createHmac('sha256', secret).update(DOMAIN_SEPARATOR).update(id).update(nonce).digest('base64url');
}
