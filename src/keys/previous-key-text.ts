// How the key that another system issued is read (docs/keys.md#previous-keys). The support page uses this file too.

import { withoutSeparators } from './typed-text.js';

/** A longer text is refused. The signed keys of other systems have several hundred characters. */
const MAX_LENGTH = 2_000;
/** Shorter keys, and numbers with fewer digits, could be guessed: the attempts to sign in with a key are not limited. */
const MIN_CHARACTERS = 8;
const MIN_DIGITS = 12;

/** What `readPreviousKey` accepts, as the end of a sentence that begins with the name of a column. */
export const PREVIOUS_KEY_SENTENCE = `must have ${MIN_CHARACTERS} letters and digits or more (${MIN_DIGITS} digits if it has no letter), because a shorter key could be guessed, and at most ${MAX_LENGTH} characters`;

/**
 * Reads the key that another system issued, as a person typed or pasted it (docs/decisions/0048): without regard to case,
 * separators and full width. No letter is read as another one, because other systems may use both `O` and `0`.
 * @returns the text that is hashed; null if it is too short or too long for a key
 */
export function readPreviousKey(text: string): string | null {
  if (text.length > MAX_LENGTH) return null;
  const key = withoutSeparators(text).replaceAll('_', '').normalize('NFC').toUpperCase();
  const minimum = /^\p{N}*$/u.test(key) ? MIN_DIGITS : MIN_CHARACTERS;
  return [...key].length >= minimum ? key : null;
}

/** Returns the last four characters of a previous key, by which its holder recognizes it. */
export const previousKeyHint = (key: string): string => [...key].slice(-4).join('');
