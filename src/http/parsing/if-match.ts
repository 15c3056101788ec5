/** Returns the revision in an `if-match` header; undefined for `*` and without the header. */
export const readIfMatch = (header: string | undefined): string | undefined =>
  header === undefined || header.trim() === '*' ? undefined : header.trim().replaceAll('"', '');
