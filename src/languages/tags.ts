/** Returns the canonical form of a language tag, such as `de-AT` for `de-at`; undefined if it is no valid tag. */
export function canonicalTag(tag: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(tag)[0];
  } catch {
    return undefined;
  }
}

/**
 * Finds the best of the available languages (RFC 4647, lookup): for each wanted tag in turn the same tag, or else one without
 * its last parts, such as `de` for `de-AT`. Invalid tags are skipped, because some browsers send such tags (`en-US@posix`).
 * @returns undefined if none is available
 */
export function lookUpLanguage(wanted: readonly string[], available: readonly string[]): string | undefined {
  return wanted.flatMap(rangesOf).find((range) => available.includes(range));
}

function rangesOf(tag: string): string[] {
  const parts = canonicalTag(tag)?.split('-') ?? [];
  return parts.map((_part, index) => parts.slice(0, parts.length - index).join('-'));
}

/** The scripts of living languages that are written from right to left. */
const RIGHT_TO_LEFT_SCRIPTS = 'Adlm Arab Aran Hebr Mand Nkoo Rohg Samr Syrc Thaa Yezi'.split(' ');

/** Returns the direction of the script of a language. `Intl.Locale` has a method for this, but not in all browsers. */
export function directionOf(tag: string): 'ltr' | 'rtl' {
  const { script } = new Intl.Locale(tag).maximize();
  return script !== undefined && RIGHT_TO_LEFT_SCRIPTS.includes(script) ? 'rtl' : 'ltr';
}
