/** One sign between two parts without spaces, brackets or what does not show: the rest is the mail server's affair. */
const SHAPE = /^([^\s\p{Cc}\p{Cf}<>@]+)@([^\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}<>@]+)$/u;
const MAX_LENGTH = 254;

/**
 * An e-mail address as it is stored and compared: trimmed, in lower case, one Unicode form; its domain also in one width.
 * @returns null where it is none, or over 254 characters
 */
export function canonicalEmail(text: string): string | null {
  const [, local, domain] = SHAPE.exec(text.trim().toLowerCase()) ?? [];
  if (!local || !domain || !text.isWellFormed()) return null;
  // The wide forms of letters may come out as capitals.
  const email = `${local.normalize('NFC')}@${domain.normalize('NFKC').toLowerCase()}`;
  return email.length <= MAX_LENGTH && SHAPE.test(email) ? email : null;
}
