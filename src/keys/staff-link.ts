import { createHmac } from 'node:crypto';
import type { DerivedFrom } from './derived-from.js';

const DOMAIN = 'mooring staff link v2\0';

/**
 * The secret of a mailed sign-in link, 43 characters. It is derived, so that no job and no table holds it, and a mail that
 * is tried twice has the same link twice. `secret` is LICENSE_KEY_SECRET.
 */
export function deriveStaffLink(secret: Buffer, { id, nonce }: DerivedFrom): string {
  return createHmac('sha256', secret).update(DOMAIN).update(id).update(nonce).digest('base64url');
}
