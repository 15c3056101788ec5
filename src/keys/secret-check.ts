import { createHmac } from 'node:crypto';

/** The input of the HMAC. No other use of the secret has an input that begins with it. */
const DOMAIN_SEPARATOR = 'mooring license key secret check v1\0';

/**
 * Derives the value by which a database recognises the secret with which it was made: 32 bytes, from which the secret cannot be
 * computed. @param secret LICENSE_KEY_SECRET
 */
export function deriveSecretCheck(secret: Buffer): Buffer {
  return createHmac('sha256', secret).update(DOMAIN_SEPARATOR).digest();
}
