import { Invalid, textField, type Field } from '../core/field.js';
import { characterCount } from '../core/text.js';

const MAX_REASON_CHARACTERS = 500;

/** The reason that staff give for a change. */
export const reasonField = textField('must say why, in a sentence', (text) => {
  if (text.trim() === '') return null;
  if (characterCount(text) > MAX_REASON_CHARACTERS)
    return new Invalid(`must have at most ${MAX_REASON_CHARACTERS} characters`);
  return containsEmail(text) ? new Invalid('must not hold an e-mail address') : text;
});

/** The reason that a holder gives for a request, trimmed; null if it is absent or blank. */
export const optionalReasonField: Field<string | null> = {
  parse: (input) => {
    if (input === undefined || input === null || (typeof input === 'string' && input.trim() === ''))
      return null;
    const parsed = reasonField.parse(input);
    return parsed instanceof Invalid ? parsed : parsed.trim();
  },
};

/** Whether a text contains an e-mail address, which a reason must not contain (docs/contract.md#staff). */
function containsEmail(text: string): boolean {
  // Also finds addresses in full-width letters, in other alphabets and with spaces.
  return /[^\s@]@[^\s@]|\S\s*@\s*\S+[.。]\p{L}/u.test(text.normalize('NFKC'));
}
