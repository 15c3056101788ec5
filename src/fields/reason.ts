import { Invalid, textField, type Field } from '../core/field.js';
import { characterCount, hasVisibleCharacter, isStorableText, visibleLines } from '../core/text.js';
import { containsEmail } from './contains-email.js';

const MAX_REASON_CHARACTERS = 500;

/** The reason that staff give for a change, in the form of `visibleLines`. */
export const reasonField = textField('must say why, in a sentence', (text) => {
  const reason = visibleLines(text);
  if (!hasVisibleCharacter(reason)) return null;
  if (characterCount(reason) > MAX_REASON_CHARACTERS)
    return new Invalid(`must have at most ${MAX_REASON_CHARACTERS} characters`);
  return containsEmail(reason) ? new Invalid('must not hold an e-mail address') : reason;
});

/** The reason that a holder gives for a request; null if it is absent or has no visible character. */
export const optionalReasonField: Field<string | null> = {
  parse: (input) => {
    const isBlank =
      typeof input === 'string' && isStorableText(input) && !hasVisibleCharacter(visibleLines(input));
    return input === undefined || input === null || isBlank ? null : reasonField.parse(input);
  },
};
