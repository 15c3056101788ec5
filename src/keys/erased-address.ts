import { createHmac } from 'node:crypto';

const LABEL = 'mooring erased address v1\0';

/**
 * The keyed hash by which an erased e-mail address is recognised after a restore, as 64 hex digits: HMAC-SHA256 under a
 * key that is derived from LICENSE_KEY_SECRET for this alone (docs/decisions/0024). @param email as `canonicalEmail` gives it
 */
export function hashErasedAddress(secret: Buffer, email: string): string {
  const key = createHmac('sha256', secret).update(LABEL).digest();
  return createHmac('sha256', key).update(email).digest('hex');
}
