import { compareVersions } from '../keys/manifests/version.js';

/**
 * Compares the versions of builds, such as `3.2.0` and `3.2.0+451`. A pre-release, such as `3.2.0-rc.1` or `3.2.0.dev0`, is older
 * than its release. @returns a number below, equal to or above 0 if `a` is older than, the same as or newer than `b`
 */
export function compareBuilds(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)];
  return (
    compareVersions(left.numbers, right.numbers) ||
    Number(right.isPreRelease) - Number(left.isPreRelease) ||
    left.rest.localeCompare(right.rest, 'en', { numeric: true })
  );
}

/** Splits a version into its dotted numbers and the rest, which begins with `+`, `(` or a space if it only names the build. */
function partsOf(version: string) {
  const [numbers = ''] = /^\d+(\.\d+)*/.exec(version) ?? [];
  const rest = version.slice(numbers.length);
  return { numbers, rest, isPreRelease: /^[^+ (]/.test(rest) };
}
