import { createHmac } from 'node:crypto';
import type { DerivationInput } from './derived-from.js';

/** Separates these HMACs from those of other values under the same secret. */
const DOMAIN_SEPARATOR = 'mooring sign-in code v2\0';
const CODE_COUNT = 10n ** 8n;

/**
 * Derives the 8 digits of a sign-in code. Neither the code nor a hash of it is stored: such a hash could be compared with the
 * hashes of all codes in seconds. A mail that is sent twice has the same code. @param secret LICENSE_KEY_SECRET
 */
export function deriveSignInCode(secret: Buffer, { id, nonce }: DerivationInput): string {
  const digest = createHmac('sha256', secret).update(DOMAIN_SEPARATOR).update(id).update(nonce).digest('hex');
  // The remainder of a number of 256 bits, divided by one of 27 bits, has no measurable bias.
  return String(BigInt(`0x${digest}`) % CODE_COUNT).padStart(8, '0');
}
