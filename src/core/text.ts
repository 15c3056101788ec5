/** Whether PostgreSQL can store a text: it refuses NUL, and an unpaired surrogate would become another character. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** The number of code points, which is also the length of the text in PostgreSQL. */
export function characterCount(text: string): number {
  return [...text].length;
}
