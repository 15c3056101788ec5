import { createHmac } from 'node:crypto';

const DOMAIN = 'mooring staff link v1\0';

/**
 * The secret of a mailed sign-in link, 43 characters: derived from its id, so that no job holds it, and a mail that is
 * tried twice says the same link twice. `secret` is LICENSE_KEY_SECRET, `id` a random UUID.
 */
export function deriveStaffLink(secret: Buffer, id: string): string {
  return createHmac('sha256', secret).update(DOMAIN).update(id).digest('base64url');
}
