import { createHmac } from 'node:crypto';
import type { DerivationInput } from './derived-from.js';

const DOMAIN = 'mooring sign-in code v2\0';
const CODES = 10n ** 8n;

/**
 * Derives the 8 digits of a sign-in code. No table contains them or their hash, which could be searched in seconds, and a mail that
 * is sent twice has the same code. @param secret LICENSE_KEY_SECRET
 */
export function deriveSignInCode(secret: Buffer, { id, nonce }: DerivationInput): string {
  const digest = createHmac('sha256', secret).update(DOMAIN).update(id).update(nonce).digest('hex');
  // The remainder of 256 bits by a number of 27 bits has no measurable bias.
  return String(BigInt(`0x${digest}`) % CODES).padStart(8, '0');
}
