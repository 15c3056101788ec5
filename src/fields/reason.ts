import { Invalid, textField, type Field } from '../core/field.js';
import {
  characterCount,
  exceedsMaxInNfc,
  hasVisibleCharacter,
  isStorableText,
  visibleLines,
} from '../core/text.js';
import { containsEmail } from './contains-email.js';

const MAX_REASON_CHARACTERS = 500;
const TOO_LONG = new Invalid(`must have at most ${MAX_REASON_CHARACTERS} characters`);

/** The reason that staff give for a change, in the form of `visibleLines`. */
export const reasonField = textField('must say why, in a sentence', (text) => {
  if (!hasVisibleCharacter(text)) return null;
  if (exceedsMaxInNfc(text, MAX_REASON_CHARACTERS)) return TOO_LONG;
  const reason = visibleLines(text);
  if (characterCount(reason) > MAX_REASON_CHARACTERS) return TOO_LONG;
  return containsEmail(reason) ? new Invalid('must not hold an e-mail address') : reason;
});

/** The reason that a holder gives for a request; null if it is absent or has no visible character. */
export const optionalReasonField: Field<string | null> = {
  parse: (input) => {
    const isBlank = typeof input === 'string' && isStorableText(input) && !hasVisibleCharacter(input);
    return input === undefined || input === null || isBlank ? null : reasonField.parse(input);
  },
};
