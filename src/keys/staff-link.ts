import { createHmac } from 'node:crypto';
import type { DerivationInput } from './derived-from.js';

const DOMAIN = 'mooring staff link v2\0';

/**
 * Derives the secret of a mailed sign-in link, 43 characters. No job and no table contains it, and a mail that is sent twice has
 * the same link. @param secret LICENSE_KEY_SECRET
 */
export function deriveStaffLink(secret: Buffer, { id, nonce }: DerivationInput): string {
  return createHmac('sha256', secret).update(DOMAIN).update(id).update(nonce).digest('base64url');
}
