/**
 * Returns the revisions in an `if-match` header, one of which must be the present one (RFC 9110, section 13.1.1). A weak entity
 * tag never matches, so it is left out. @returns undefined if any revision is accepted: for `*`, or without the header
 */
export const readIfMatch = (header: string | undefined): string[] | undefined =>
  header === undefined || header.trim() === '*'
    ? undefined
    : header
        .split(',')
        .map((tag) => tag.trim())
        .filter((tag) => !tag.startsWith('W/'))
        .map((tag) => tag.replaceAll('"', ''));
