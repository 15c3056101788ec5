import { createHmac } from 'node:crypto';

const DOMAIN = 'mooring sign-in code v1\0';
const CODES = 10n ** 8n;

/**
 * The 8 digits of a sign-in code: derived from its id, so that no table holds it, nor a hash that eight digits would not
 * survive; and a mail that is tried twice says the same code twice. `secret` is LICENSE_KEY_SECRET, `id` a UUID.
 */
export function deriveSignInCode(secret: Buffer, id: string): string {
  const digest = createHmac('sha256', secret).update(DOMAIN).update(id).digest('hex');
  // 256 bits to 27: what the remainder favours is beyond any counting.
  return String(BigInt(`0x${digest}`) % CODES).padStart(8, '0');
}
