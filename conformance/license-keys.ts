// Keys of licenses that do not exist, with a check symbol that fits: Σ αⁱ·sᵢ = 0 over GF(32) (docs/keys.md#license-keys).
// The prefix is no part of the sum, so it is that of the license at hand.

const prefix = (key: string) => /^\s*([A-Za-z0-9]{2,12})_/.exec(key)?.[1] ?? 'MOOR';

/** Well-formed, and of no license. */
export const unknownKey = (key: string) => `${prefix(key)}_E6S7-Z8KJ-TB3R-QKX6`;

/** The same with its last symbol mistyped. */
export const mistypedKey = (key: string) => `${prefix(key)}_E6S7-Z8KJ-TB3R-QKX7`;

/** The unknown key `0101-0101-0101-010S`, as someone copies it from a bad print. */
export const unknownLookalikeKey = (key: string) => `${prefix(key)}_OIoL-Oiol-olOI-oLos`;

/** The key itself, its 0s and 1s spelled with letters that look alike. */
export function lookalike(key: string): string {
  const at = key.indexOf('_') + 1;
  const groups = key.slice(at).replaceAll('0', 'O').replace('1', 'I').replaceAll('1', 'l');
  return key.slice(0, at) + groups;
}
