import { Invalid, type Field } from '../core/field.js';
import { characterCount, isStorableText } from '../core/text.js';

/**
 * Characters that are invisible or change the direction of text: control, format and bidirectional characters and line
 * separators. The zero-width joiner and non-joiner and the Unicode tag characters remain, because emoji and some scripts need them.
 */
const INVISIBLE_CHARACTERS = /[\p{Cc}\p{Zl}\p{Zp}]|(?!\u200C|\u200D|[\u{E0020}-\u{E007F}])\p{Cf}/gu;
const MAX_HINT_CHARACTERS = 100;

/**
 * The label that a user types for a machine, in NFC and without invisible characters; null if the label is absent or no visible
 * character remains.
 */
export const hostnameHintField: Field<string | null> = {
  parse: (input) => {
    if (input === undefined || input === null) return null;
    if (typeof input !== 'string') return new Invalid('must be text');
    if (!isStorableText(input)) return new Invalid('must not hold a NUL or half a surrogate pair');
    const hint = input.replace(INVISIBLE_CHARACTERS, '').normalize('NFC').trim();
    if (!/[^\p{Cf}\s]/u.test(hint)) return null;
    if (characterCount(hint) <= MAX_HINT_CHARACTERS) return hint;
    return new Invalid(`must have at most ${MAX_HINT_CHARACTERS} characters`);
  },
};
