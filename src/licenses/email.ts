import { characterCount } from '../http/text.js';

/** One sign between two parts without white space or control characters: the rest is the mail server's affair. */
const SHAPE = /^[^\s\p{Cc}@]+@[^\s\p{Cc}@]+$/u;
const MAX_LENGTH = 254;

/**
 * An e-mail address as it is stored and compared: trimmed, in lower case, one Unicode form.
 * @returns null where it is none, or over 254 characters
 */
export function canonicalEmail(text: string): string | null {
  const email = text.trim().toLowerCase().normalize('NFC');
  return email.length <= MAX_LENGTH && SHAPE.test(email) ? email : null;
}

/** Whether a text holds an e-mail address: a reason must not (contract, section 4). */
export function holdsEmail(text: string): boolean {
  // Also in full-width letters, and with spaces put in.
  return /[^\s@]@[^\s@]|\S\s*@\s*\S+\.[a-z]/i.test(text.normalize('NFKC'));
}

/** A reason as every staff write demands it. @returns what is wrong with it, or undefined */
export function reasonRule(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.trim() === '') return 'must say why, in a sentence';
  if (characterCount(value) > 500) return 'must have at most 500 characters';
  if (holdsEmail(value)) return 'must not hold an e-mail address';
  return undefined;
}
