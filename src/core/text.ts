/** PostgreSQL takes no NUL, and half a surrogate pair becomes another character on its way. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** Characters as a person and PostgreSQL count them: code points, so that an emoji is one. */
export function characterCount(text: string): number {
  return [...text].length;
}
