import { checkSymbolHolds, readLicenseKey } from '../../src/keys/license-key-text.js';

/**
 * Whether a text has the shape of a license key with a wrong check symbol. Imported keys may lack the check symbol, so it only
 * explains why no license has the key.
 */
export function isMistyped(text: string): boolean {
  const key = readLicenseKey(text);
  return key !== null && !checkSymbolHolds(key);
}
