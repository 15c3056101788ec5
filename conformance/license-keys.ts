// Spellings of license keys. The invented keys belong to no license. All of them except `mistypedKey` have a valid check
// symbol: Σ αⁱ·sᵢ = 0 over GF(32) (docs/keys.md#license-keys). The prefix is not part of the sum, so the invented keys have
// the prefix of the given key.
import type { License } from './deployment.ts';

const prefixOf = (key: string) => /^\s*([A-Za-z0-9]{2,12})_/.exec(key)?.[1] ?? 'MOOR';

/**
 * A well-formed key and an address that belong to no license. With them, a service that accepts an invalid member by mistake still
 * activates nothing.
 */
export const unknownLicense = ({ license_key }: License): License => ({
  license_key: `${prefixOf(license_key)}_E6S7-Z8KJ-TB3R-QKX6`,
  email: 'unknown@conformance.invalid',
});

/** The key of `unknownLicense` with another last symbol, which is not its check symbol. */
export const mistypedKey = (key: string) => `${prefixOf(key)}_E6S7-Z8KJ-TB3R-QKX7`;

/** Another unknown key, `0101-0101-0101-010S`, written with letters that look like its digits. */
export const unknownLookalikeKey = (key: string) => `${prefixOf(key)}_OIoL-Oiol-olOI-oLos`;

/** The given key, with the letters O, I and l in place of the digits 0 and 1. */
export function withLookalikes(key: string): string {
  const start = key.indexOf('_') + 1;
  const groups = key.slice(start).replaceAll('0', 'O').replace('1', 'I').replaceAll('1', 'l');
  return key.slice(0, start) + groups;
}
