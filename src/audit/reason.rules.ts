import { characterCount } from '../http/parsing/text.js';

/** Whether a text holds an e-mail address: a reason must not (contract, section 4). */
function holdsEmail(text: string): boolean {
  // Also in full-width letters, of any alphabet, and with spaces put in.
  return /[^\s@]@[^\s@]|\S\s*@\s*\S+[.。]\p{L}/u.test(text.normalize('NFKC'));
}

/** A reason as every staff write demands it. @returns what is wrong with it, or undefined */
export function reasonRule(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.trim() === '') return 'must say why, in a sentence';
  if (characterCount(value) > 500) return 'must have at most 500 characters';
  if (holdsEmail(value)) return 'must not hold an e-mail address';
  return undefined;
}
