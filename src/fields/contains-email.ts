// The support page uses this file too, so it imports nothing.

/** Whether a text contains an e-mail address, which a reason must not contain (docs/contract.md#staff). */
export function containsEmail(text: string): boolean {
  // Also finds addresses in full-width letters, in other alphabets, with spaces, and with invisible characters or accents.
  const plain = text.normalize('NFKC').replace(/[\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}]/gu, '');
  return /[^\s@]@[^\s@]|\S\s*@\s*\S+[.。]\p{L}/u.test(plain);
}
