import { createHmac, hash } from 'node:crypto';

/** Crockford's base32: no I, L, O or U. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const SECRET_SYMBOLS = 15;
const DOMAIN = 'mooring license key v1\0';

// The pattern is case-insensitive for ASCII only: toUpperCase alone would turn letters such as ı and ſ into I and S.
const SHAPE = /^([A-Z0-9]{2,12})_([0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4})$/i;

/**
 * Derives the key of a license (docs/keys.md#license-keys).
 * @param secret LICENSE_KEY_SECRET @param licenseId a UUID @param generation a uint32 that `rekey` increments
 */
export function deriveLicenseKey(
  secret: Buffer,
  prefix: string,
  licenseId: string,
  generation: number,
): string {
  const symbols = secretSymbols(secret, licenseId, generation);
  const text = [...symbols, checkSymbol(symbols)].map((symbol) => ALPHABET.charAt(symbol)).join('');
  return `${prefix}_${text.replace(/(.{4})(?!$)/g, '$1-')}`;
}

/** Returns the canonical text, which is hashed and compared; null if the text does not have the shape of a key. */
export function canonicalLicenseKey(text: string): string | null {
  const shape = SHAPE.exec(text.trim());
  if (!shape?.[1] || !shape[2]) return null;
  const groups = shape[2].toUpperCase().replaceAll('O', '0').replaceAll(/[IL]/g, '1');
  return `${shape[1].toUpperCase()}_${groups}`;
}

/**
 * Whether the check symbol is right. It detects each single wrong symbol and each swap of two. Imported keys may lack it, so a
 * wrong check symbol alone does not refuse the key of a license.
 */
export function checkSymbolHolds(canonical: string): boolean {
  const symbols = [...canonical.slice(canonical.indexOf('_') + 1).replaceAll('-', '')];
  const values = symbols.map((symbol) => ALPHABET.indexOf(symbol));
  return values.length === SECRET_SYMBOLS + 1 && !values.includes(-1) && weightedSum(values) === 0;
}

/** SHA-256 of the canonical text, which the database stores instead of the key. */
export function licenseKeyHash(canonical: string): Buffer {
  return hash('sha256', canonical, 'buffer');
}

/** The last two symbols, with which people tell keys apart; 65 bits remain secret. */
export function licenseKeyHint(canonical: string): string {
  return canonical.slice(-2);
}

/** The first 75 bits of the HMAC, big-endian, five for each symbol. */
function secretSymbols(secret: Buffer, licenseId: string, generation: number): number[] {
  const id = Buffer.from(licenseId.replaceAll('-', ''), 'hex');
  if (id.length !== 16) throw new RangeError('A license id is a UUID.');
  const counter = Buffer.alloc(4);
  counter.writeUInt32BE(generation);
  const digest = createHmac('sha256', secret).update(DOMAIN).update(id).update(counter).digest('hex');
  const bits = BigInt(`0x${digest}`);
  return Array.from({ length: SECRET_SYMBOLS }, (_, i) => Number((bits >> BigInt(251 - 5 * i)) & 31n));
}

/** The s₁₅ for which Σ αⁱ·sᵢ = 0: the sum of the others times α¹⁶, which divides by α¹⁵ because α³¹ = 1. */
function checkSymbol(symbols: readonly number[]): number {
  let symbol = weightedSum(symbols);
  for (let i = 0; i < 16; i += 1) symbol = timesAlpha(symbol);
  return symbol;
}

/** Σ αⁱ·sᵢ over GF(32), by Horner's rule. */
function weightedSum(symbols: readonly number[]): number {
  return symbols.reduceRight((sum, symbol) => timesAlpha(sum) ^ symbol, 0);
}

/** Multiplies by α = 2 in GF(32) with x⁵+x²+1. */
function timesAlpha(value: number): number {
  return value < 16 ? value << 1 : (value << 1) ^ 0b100101;
}
