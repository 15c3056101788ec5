import { createHmac } from 'node:crypto';

/** Separates these HMACs from those of other values under the same secret. */
const DOMAIN_SEPARATOR = 'mooring audit actor v1\0';
/** In base64url characters, which are 96 bits: a collision between two actors of a vendor is practically impossible. */
const ID_LENGTH = 16;

/**
 * Derives the id of an actor of the audit trail, 16 characters. A URL that filters the audit trail contains the id, because an
 * actor is usually an e-mail address, and no URL contains personal data. @param secret LICENSE_KEY_SECRET
 */
export function deriveAuditActorId(secret: Buffer, actor: string): string {
  const hmac = createHmac('sha256', secret).update(DOMAIN_SEPARATOR).update(actor);
  return hmac.digest('base64url').slice(0, ID_LENGTH);
}
