import { createHmac } from 'node:crypto';
import type { DerivationInput } from './derivation-input.js';

/** The beginning of the input of the HMAC. No other HMAC with the same secret has this beginning. */
const DOMAIN_SEPARATOR = 'mooring sign-in code v2\0';
/** The number of codes of 8 digits. */
const CODE_COUNT = 10n ** 8n;

/**
 * Derives the 8 digits of a sign-in code. Neither the code nor a hash of the code is stored: a hash could be compared with the
 * hashes of all codes within seconds. A mail that is sent twice contains the same code. @param secret LICENSE_KEY_SECRET
 */
export function deriveSignInCode(secret: Buffer, { id, nonce }: DerivationInput): string {
  const digest = createHmac('sha256', secret).update(DOMAIN_SEPARATOR).update(id).update(nonce).digest('hex');
  // The remainder of a number of 256 bits, divided by one of 27 bits, has no measurable bias.
  return String(BigInt(`0x${digest}`) % CODE_COUNT).padStart(8, '0');
}
