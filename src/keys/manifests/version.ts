/** Whether a text is a version: one to four dotted numbers, at most 32 characters. */
export function isVersion(text: string): boolean {
  return text.length <= 32 && /^\d+(\.\d+){0,3}$/.test(text);
}

/**
 * Compares versions part by part; a missing part counts as 0.
 * @returns a number below, equal to or above 0 if `a` is older than, equal to or newer than `b`
 */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [versionParts(a), versionParts(b)];
  for (let i = 0; i < Math.max(left.length, right.length); i += 1) {
    const [l, r] = [left[i] ?? '', right[i] ?? ''];
    if (l.length !== r.length) return l.length - r.length;
    if (l !== r) return l < r ? -1 : 1;
  }
  return 0;
}

/** Returns one text for all spellings of a version: `3.2`, `3.2.0` and `03.2` are the same version. */
export function canonicalVersion(version: string): string {
  return versionParts(version).join('.').replace(/\.*$/, '');
}

/** Splits a version into numbers, as texts without leading zeros. Of two such texts the longer one is the greater number. */
function versionParts(version: string): string[] {
  return version.split('.').map((part) => part.replace(/^0+/, ''));
}
