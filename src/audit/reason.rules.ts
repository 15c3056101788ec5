import { characterCount } from '../http/parsing/text.js';

/** Whether a text contains an e-mail address, which a reason must not contain (docs/contract.md#staff). */
function containsEmail(text: string): boolean {
  // Also finds addresses in full-width letters, in other alphabets and with spaces.
  return /[^\s@]@[^\s@]|\S\s*@\s*\S+[.。]\p{L}/u.test(text.normalize('NFKC'));
}

/** The rule for the reason that each change by staff requires. @returns the violated rule, or undefined */
export function reasonRule(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.trim() === '') return 'must say why, in a sentence';
  if (characterCount(value) > 500) return 'must have at most 500 characters';
  if (containsEmail(value)) return 'must not hold an e-mail address';
  return undefined;
}
