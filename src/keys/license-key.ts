import { createHmac, hash } from 'node:crypto';
import { ALPHABET, checkSymbol, formatLicenseKey } from './license-key-text.js';

const SECRET_SYMBOLS = 15;
/** The beginning of the input of the HMAC. No other HMAC with the same secret has this beginning. */
const DOMAIN_SEPARATOR = 'mooring license key v1\0';

/**
 * Derives the key of a license (docs/keys.md#license-keys).
 * @param secret LICENSE_KEY_SECRET @param prefix LICENSE_KEY_PREFIX @param licenseId a UUID
 * @param generation a uint32 that increases when staff replace the key
 */
export function deriveLicenseKey(
  secret: Buffer,
  prefix: string,
  licenseId: string,
  generation: number,
): string {
  const symbols = secretSymbols(secret, licenseId, generation);
  const text = [...symbols, checkSymbol(symbols)].map((symbol) => ALPHABET.charAt(symbol)).join('');
  return formatLicenseKey(prefix, text);
}

/** Returns the SHA-256 of the canonical text of a key. The database stores the hash instead of the key. */
export function licenseKeyHash(canonical: string): Buffer {
  return hash('sha256', canonical, 'buffer');
}

/**
 * Returns the last two symbols of a key, by which people distinguish keys: the last secret symbol, and the check symbol of the
 * fifteen secret ones. They reveal 10 of the 75 secret bits.
 */
export function licenseKeyHint(canonical: string): string {
  return canonical.slice(-2);
}

/** Returns the 15 secret symbols as indexes of ALPHABET: the first 75 bits of the HMAC, big-endian, five for each symbol. */
function secretSymbols(secret: Buffer, licenseId: string, generation: number): number[] {
  const id = Buffer.from(licenseId.replaceAll('-', ''), 'hex');
  if (id.length !== 16) throw new RangeError('A license id is a UUID.');
  const counter = Buffer.alloc(4);
  counter.writeUInt32BE(generation);
  const digest = createHmac('sha256', secret)
    .update(DOMAIN_SEPARATOR)
    .update(id)
    .update(counter)
    .digest('hex');
  const bits = BigInt(`0x${digest}`);
  return Array.from({ length: SECRET_SYMBOLS }, (_, i) => Number((bits >> BigInt(251 - 5 * i)) & 31n));
}
