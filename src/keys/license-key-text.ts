// How a typed or pasted license key is read (docs/keys.md#license-keys). The pages use this file too.

import { withAsciiWidth, withoutSeparators, WORD_CHARACTER } from './typed-text.js';

/** Crockford's base32: no I, L, O or U. Imported keys may have a U. */
export const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** The number of symbols of a key without its prefix: 15 secret symbols and the check symbol. */
const SYMBOLS = 16;
/** The division by α¹⁵ is a multiplication by α¹⁶, because α³¹ = 1. */
const DIVISION_EXPONENT = 16;
/** A longer text is refused. The mail in which a key is sent is shorter. */
const MAX_TYPED_LENGTH = 2_000;

const CANONICAL = /^[A-Z0-9]{2,12}_(?:[0-9A-HJKMNP-Z]{4}-){3}[0-9A-HJKMNP-Z]{4}$/;
// The patterns are case-insensitive for ASCII only: toUpperCase alone would turn letters such as ı and ſ into I and S.
const WITH_UNDERSCORE = /^([A-Z0-9]{2,12})_((?:[A-Z0-9]_?){16})$/i;
const WITHOUT_UNDERSCORE = /^([A-Z0-9]{2,12})?([A-Z0-9]{16})$/i;
// Finds a key between other words, such as those of a mail. It must have its prefix and the underscore. Spaces in it are accepted
// only after a separator such as a dash, where a line may end: without one, another word of four letters could be taken for a
// group of the key.
const KEY_IN_TEXT = new RegExp(
  `(?<!${WORD_CHARACTER}\\p{Pd}?)[A-Za-z0-9]{2,12}_[A-Za-z0-9]{4}` +
    `(?:(?:[\\p{Pd}−ーｰ_][\\s>]{0,9})?[A-Za-z0-9]{4}){3}(?!\\p{Pd}?${WORD_CHARACTER})`,
  'gu',
);
// Matches what precedes a key: a label such as `Key `, `KEY:` or `1) `, or any words before a prefix with its underscore.
const LABEL = /^.*(?:[:：)]\s|(?:key|schlüssel|clé|キー)[\s:：]|\s(?=[A-Za-z0-9]{2,12}_))/is;

/**
 * Reads a license key that a person typed or pasted. Case, separators and words around the key have no effect. `O` is read as `0`,
 * `I` and `L` as `1`.
 * @returns the text in canonical form, with the prefix that was typed, or without one until `withServicePrefix` adds it; null if
 *   the text does not have the shape of a key, or has several different keys
 */
export function readLicenseKey(text: string): string | null {
  // A key that was pasted from its mail is canonical already.
  if (CANONICAL.test(text)) return text;
  if (text.length > MAX_TYPED_LENGTH) return null;
  const keys = new Set(withAsciiWidth(text).match(KEY_IN_TEXT)?.map(readKeyAlone));
  if (keys.size > 1) return null;
  return [...keys][0] ?? readKeyAlone(text.replace(LABEL, '')) ?? readKeyAlone(text);
}

/** Reads a text that has nothing but a license key and separators. */
function readKeyAlone(text: string): string | null {
  const typed = withoutSeparators(text);
  const shape = WITH_UNDERSCORE.exec(typed) ?? WITHOUT_UNDERSCORE.exec(typed);
  if (!shape?.[2]) return null;
  const symbols = readLookAlikes(shape[2].toUpperCase().replaceAll('_', ''));
  return formatLicenseKey(shape[1]?.toUpperCase() ?? '', symbols);
}

/**
 * Returns the canonical text of a key, which is hashed and compared. A key that was typed without a prefix, or with a look-alike
 * of the service's prefix such as `M00R`, gets this prefix. Any other prefix stays, because imported keys have their own.
 * @param key the result of `readLicenseKey` @param prefix LICENSE_KEY_PREFIX
 */
export function withServicePrefix(key: string, prefix: string): string {
  const end = key.indexOf('_');
  const isOfService = end === -1 || readLookAlikes(key.slice(0, end)) === readLookAlikes(prefix);
  return isOfService ? `${prefix}_${key.slice(end + 1)}` : key;
}

function readLookAlikes(text: string): string {
  return text.replaceAll('O', '0').replaceAll(/[IL]/g, '1');
}

/** Returns the canonical text of a key. @param prefix empty for a key without a prefix @param symbols the 16 symbols as one text */
export function formatLicenseKey(prefix: string, symbols: string): string {
  return `${prefix && `${prefix}_`}${symbols.replace(/(.{4})(?!$)/g, '$1-')}`;
}

/**
 * Whether the check symbol of a key is right. A single wrong symbol and a swap of two symbols are always detected. No key is
 * refused for it alone, because the last symbol of an imported key need not be a check symbol. Callers use it to explain why no
 * license was found, and to distinguish a key without digits from the name of a column.
 * @param canonical the result of `readLicenseKey`
 */
export function hasValidCheckSymbol(canonical: string): boolean {
  const symbols = [...canonical.slice(canonical.indexOf('_') + 1).replaceAll('-', '')];
  const values = symbols.map((symbol) => ALPHABET.indexOf(symbol));
  return values.length === SYMBOLS && !values.includes(-1) && weightedSum(values) === 0;
}

/**
 * Computes the check symbol s₁₅, for which Σ αⁱ·sᵢ = 0: the weighted sum of the 15 other symbols, divided by α¹⁵.
 * @param symbols the 15 secret symbols as indexes of ALPHABET
 */
export function checkSymbol(symbols: readonly number[]): number {
  let symbol = weightedSum(symbols);
  for (let i = 0; i < DIVISION_EXPONENT; i += 1) symbol = timesAlpha(symbol);
  return symbol;
}

/** Computes Σ αⁱ·sᵢ over GF(32), by Horner's rule. */
function weightedSum(symbols: readonly number[]): number {
  return symbols.reduceRight((sum, symbol) => timesAlpha(sum) ^ symbol, 0);
}

/** Multiplies by α = 2 in GF(32) with x⁵+x²+1. */
function timesAlpha(value: number): number {
  return value < 16 ? value << 1 : (value << 1) ^ 0b100101;
}
