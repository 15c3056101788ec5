/** One sign between two parts without white space, brackets or control characters: the rest is the mail server's affair. */
const SHAPE = /^[^\s\p{Cc}<>@]+@[^\s\p{Cc}<>@]+$/u;
const MAX_LENGTH = 254;

/**
 * An e-mail address as it is stored and compared: trimmed, in lower case, one Unicode form.
 * @returns null where it is none, or over 254 characters
 */
export function canonicalEmail(text: string): string | null {
  const email = text.trim().toLowerCase().normalize('NFC');
  return email.length <= MAX_LENGTH && SHAPE.test(email) ? email : null;
}
