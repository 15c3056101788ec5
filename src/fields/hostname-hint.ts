import { Invalid, NOT_STORABLE, type Field } from '../core/field.js';
import {
  characterCount,
  exceedsMaxInNfc,
  hasVisibleCharacter,
  isStorableText,
  visibleLine,
} from '../core/text.js';

const MAX_HINT_CHARACTERS = 100;
const TOO_LONG = new Invalid(`must have at most ${MAX_HINT_CHARACTERS} characters`);

/**
 * The label that a user types for a machine, in NFC and without invisible characters; null if the label is absent or no visible
 * character remains.
 */
export const hostnameHintField: Field<string | null> = {
  parse: (input) => {
    if (input === undefined || input === null) return null;
    if (typeof input !== 'string') return new Invalid('must be text');
    if (!isStorableText(input)) return NOT_STORABLE;
    if (!hasVisibleCharacter(input)) return null;
    if (exceedsMaxInNfc(input, MAX_HINT_CHARACTERS)) return TOO_LONG;
    const hint = visibleLine(input);
    return characterCount(hint) <= MAX_HINT_CHARACTERS ? hint : TOO_LONG;
  },
};
