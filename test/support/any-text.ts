import fc from 'fast-check';

const SURROGATES = { first: 0xd800, count: 0x800 };
const LAST_CODE_POINT = 0x10_ffff;

/** Any code point but the surrogates, which UTF-8 cannot encode. */
const codePoint = fc
  .integer({ min: 0, max: LAST_CODE_POINT - SURROGATES.count })
  .map((n) => String.fromCodePoint(n < SURROGATES.first ? n : n + SURROGATES.count));

/** Characters that consist of several code points, and characters that faulty code often drops. */
const unusual = fc.constantFrom('e\u0301', '👩‍💻', '🇫🇮', '\u0000', '\u200b', '\ufeff', '\u2028');

/** The units `grapheme` and `binary` of fast-check are not used here, because they keep tables of 85 MB in memory. */
const character = fc.oneof(fc.string({ minLength: 1, maxLength: 1 }), codePoint, unusual);

/** Generates any text that is valid in UTF-8. */
export const anyText = (limits: { minLength?: number; maxLength?: number } = {}): fc.Arbitrary<string> =>
  fc.string({ unit: character, ...limits });
