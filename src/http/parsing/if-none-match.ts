/** Whether `If-None-Match`, a list of ETags or `*`, contains the ETag. The comparison is weak (RFC 9110, section 13.1.2). */
export function containsEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  // Almost every client sends the ETag as it received it. Parsing the list would take longer than the other steps of the response.
  if (ifNoneMatch === etag) return true;
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag) || tags.includes('*');
}
