import { createHmac } from 'node:crypto';
import type { DerivedFrom } from './derived-from.js';

const DOMAIN = 'mooring sign-in code v2\0';
const CODES = 10n ** 8n;

/**
 * The 8 digits of a sign-in code. They are derived, so that no table holds them, nor a hash that eight digits would not
 * survive; and a mail that is tried twice has the same code twice. `secret` is LICENSE_KEY_SECRET.
 */
export function deriveSignInCode(secret: Buffer, { id, nonce }: DerivedFrom): string {
  const digest = createHmac('sha256', secret).update(DOMAIN).update(id).update(nonce).digest('hex');
  // 256 bits to 27: what the remainder favours is beyond any counting.
  return String(BigInt(`0x${digest}`) % CODES).padStart(8, '0');
}
