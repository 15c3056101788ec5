/** Whether PostgreSQL can store a text: it refuses NUL, and an unpaired surrogate would become another character. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** The number of code points, which is also the length of the text in PostgreSQL. */
export function characterCount(text: string): number {
  return [...text].length;
}

/**
 * Whether a text certainly has more than `max` characters after NFC, by its length alone: NFC composes at most six UTF-16 units to
 * one character. Check it before normalization, whose time grows with the square of the number of combining marks.
 */
export const exceedsMaxInNfc = (text: string, max: number) => text.length > 6 * max;

/**
 * Characters that are invisible or change the direction of text: control, format and bidirectional characters and line
 * separators. The zero-width joiner and non-joiner and the Unicode tag characters remain, because emoji and some scripts need them.
 */
const INVISIBLE_CHARACTERS = /[\p{Cc}\p{Zl}\p{Zp}]|(?!\u200C|\u200D|[\u{E0020}-\u{E007F}])\p{Cf}/gu;

/** Returns a text that a person typed in one line, in NFC, without invisible characters and without spaces at its ends. */
export const visibleLine = (text: string) => text.replace(INVISIBLE_CHARACTERS, '').normalize('NFC').trim();

/** Returns a text with escapes such as `\u{1b}` for invisible characters, which could change how a terminal shows the rest. */
export const escapeInvisible = (text: string) =>
  text.replace(INVISIBLE_CHARACTERS, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);

/** As `visibleLine`, for a text of several lines: it keeps the line breaks, and makes each tab a space. */
export const visibleLines = (text: string) =>
  text
    .split(/\r\n|[\n\r\u0085\u2028\u2029]/)
    .map((line) => visibleLine(line.replaceAll('\t', ' ')))
    .join('\n')
    .trim();

/**
 * Whether a text has a character that a reader can see. The letters that only fill space (U+3164 and others) are invisible, and so
 * is the Braille pattern without a dot (U+2800).
 */
export const hasVisibleCharacter = (text: string) =>
  /[^\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\s\u2800]/u.test(text);

/** Returns the texts of a list, which holds `false` in the place of each text that does not apply. */
export const applicableTexts = (texts: readonly (string | false)[]) => texts.filter((text) => text !== false);
