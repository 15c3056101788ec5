// How a typed or pasted license key or sign-in code is cleaned. The pages use this file too, so it imports nothing.

// What mail programs, input methods and people put around and between the characters: spaces, punctuation but `_`, symbols such as
// the `>` before a quoted line, the Japanese long vowel mark in place of a dash, invisible characters.
const SEPARATORS = /[\s\p{Cf}\p{S}ーｰ]|(?!_)\p{P}/gu;
// Japanese and Chinese input methods type these. No other letter or digit is mapped, because it may only look like the right one.
const FULL_WIDTH = /[０-９Ａ-Ｚａ-ｚ＿]/g;

/**
 * The source of a pattern for one character of a word. Japanese, Chinese and Korean letters are left out, because these languages
 * write a key or code without a space beside it. `scx` also has the marks that their scripts share, such as the half-width voiced
 * sound mark. NUL is also a word character here, so that the pages read no key beside a NUL: the service refuses such a text.
 */
export const WORD_CHARACTER = String.raw`(?![\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}])[\p{L}\p{N}_\0]`;
const DIGIT_GAP = String.raw`[\s\p{Pd}−]{0,3}`;
// Finds a code between other words: 8 digits, with or without a gap in the middle. No word character may be beside them, and no
// further digit, even after a gap.
const CODE_IN_TEXT = new RegExp(
  `(?<!${WORD_CHARACTER}|[0-9]${DIGIT_GAP})[0-9]{4}${DIGIT_GAP}[0-9]{4}(?!${WORD_CHARACTER}|${DIGIT_GAP}[0-9])`,
  'gu',
);

/** Returns a typed or pasted text without invisible characters, and with full-width letters and digits as ASCII. */
export function withAsciiWidth(text: string): string {
  return text.replace(/\p{Cf}/gu, '').replace(FULL_WIDTH, (character) => character.normalize('NFKC'));
}

/** Returns a typed or pasted text without separators. `_` stays. Full-width letters and digits become ASCII. */
export function withoutSeparators(text: string): string {
  return withAsciiWidth(text).replace(SEPARATORS, '');
}

/**
 * Reads a mailed code of 8 digits, which may be typed in groups, or pasted with the words around it.
 * @returns its digits; null if the text is not such a code, or has words and not exactly one such code
 */
export function readSignInCode(text: string): string | null {
  const digits = withoutSeparators(text).replaceAll('_', '');
  if (/^[0-9]{8}$/.test(digits)) return digits;
  const codes = new Set(withAsciiWidth(text).match(CODE_IN_TEXT)?.map(withoutSeparators));
  return codes.size === 1 ? [...codes][0]! : null;
}
