import { createHmac } from 'node:crypto';
import { deriveId } from './purchase-ids.js';

/** The beginnings of the inputs of the HMACs with the secret. No other use of the secret has one of them. */
const HASH_KEY_SEPARATOR = 'mooring previous key v1\0';
const LICENSE_ID_SEPARATOR = 'mooring imported license id v1\0';

/**
 * Returns the keyed hash of a previous key: HMAC-SHA256 with a key that is derived from LICENSE_KEY_SECRET for this use only. A
 * plain hash would reveal the keys of a system whose keys are short.
 * @param key the result of `readPreviousKey`
 */
export function hashPreviousKey(secret: Buffer, key: string): Buffer {
  const hashKey = createHmac('sha256', secret).update(HASH_KEY_SEPARATOR).digest();
  return createHmac('sha256', hashKey).update(key).digest();
}

/**
 * Derives the id of the license that is imported for a previous key. The same key therefore has the same license and the same new
 * key in each import, also after a restore from a backup. @param key the result of `readPreviousKey`
 */
export const deriveImportedLicenseId = (secret: Buffer, key: string): string =>
  deriveId(secret, LICENSE_ID_SEPARATOR, key);
