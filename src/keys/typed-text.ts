// How a typed or pasted license key or sign-in code is cleaned. The pages use this file too, so it imports nothing.

// What mail programs, input methods and people put around and between the characters: spaces, dashes, quotes, a `>` before a quoted
// line, the Japanese long vowel mark in place of a dash, invisible characters.
const SEPARATORS = /[\s\p{Cf}\p{S}ーｰ]|(?!_)\p{P}/gu;
// Japanese and Chinese input methods type these. No other letter or digit is mapped, because it may only look like the right one.
const FULL_WIDTH = /[０-９Ａ-Ｚａ-ｚ]/g;

/** Returns a typed or pasted text without separators. `_` stays. Full-width letters and digits become ASCII. */
export function withoutSeparators(text: string): string {
  return text.replace(SEPARATORS, '').replace(FULL_WIDTH, (character) => character.normalize('NFKC'));
}

/** Reads a mailed code of 8 digits, which may be typed in groups. @returns its digits; null if the text is not such a code */
export function readSignInCode(text: string): string | null {
  const digits = withoutSeparators(text).replaceAll('_', '');
  return /^[0-9]{8}$/.test(digits) ? digits : null;
}
