import { domainToASCII, domainToUnicode } from 'node:url';
import { textField } from '../core/field.js';
import { exceedsMaxInNfc } from '../core/text.js';

/**
 * Two parts around one `@`, without spaces, angle brackets, control and format characters. The domain also excludes the other
 * invisible characters, because a domain is the same with and without them. The mail server checks the rest.
 */
const EMAIL_PATTERN = /^([^\s\p{Cc}\p{Cf}<>@]+)@([^\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}<>@]+)$/u;
const MAX_EMAIL_LENGTH = 254;

/**
 * Returns the form in which an e-mail address is stored and compared: trimmed, in lower case and in NFC, the domain in NFKC, in
 * Unicode and with ASCII dots.
 * @returns null if the text is no e-mail address or has more than 254 characters
 */
export function canonicalEmail(text: string): string | null {
  if (exceedsMaxInNfc(text, MAX_EMAIL_LENGTH)) return null;
  const [, local, domain] = EMAIL_PATTERN.exec(text.trim().toLowerCase()) ?? [];
  if (!local || !domain || !text.isWellFormed()) return null;
  // NFKC can turn letters without a lower-case form, such as ℂ, into capitals. It leaves the Japanese full stop, which browsers
  // convert to a dot.
  const normalized = domain.normalize('NFKC').toLowerCase().replaceAll('。', '.');
  const email = `${local.normalize('NFC')}@${inUnicode(normalized)}`;
  return email.length <= MAX_EMAIL_LENGTH && EMAIL_PATTERN.test(email) ? email : null;
}

/**
 * Returns an internationalized domain in Unicode, so that one address has one form: browsers convert the domain to ASCII (`xn--…`)
 * in a field for an address, and applications do not. A domain stays as it is if its Unicode form would not be converted back to
 * the same ASCII, is not in NFKC and lower case, or has a character that an address must not have.
 */
function inUnicode(domain: string): string {
  if (!/^(?=.*xn--)[a-z0-9.-]+$/.test(domain)) return domain;
  const unicode = domainToUnicode(domain);
  const isEquivalent =
    domainToASCII(unicode) === domain &&
    unicode.normalize('NFKC').toLowerCase() === unicode &&
    EMAIL_PATTERN.test(`a@${unicode}`);
  return isEquivalent ? unicode : domain;
}

/** An e-mail address, in the form of `canonicalEmail`. */
export const emailField = textField(
  `must be an e-mail address of at most ${MAX_EMAIL_LENGTH} characters`,
  canonicalEmail,
);
