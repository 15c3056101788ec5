import { hasValidCheckSymbol, readLicenseKey } from '../../../src/keys/license-key-text.js';

/**
 * Whether a text has the form of a license key, but a wrong check symbol. Imported keys may have no check symbol, so pages use
 * this only to explain why no license was found.
 */
export function isMistyped(text: string): boolean {
  const key = readLicenseKey(text);
  return key !== null && !hasValidCheckSymbol(key);
}
