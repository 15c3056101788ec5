import { asObject } from './json.js';
import { parseTime } from './time.js';
import { isVersion } from './version.js';
import { isWebAddress } from './web-address.js';

/** A version that can be downloaded. */
export interface Offer {
  version: string;
  dmg: { url: string; size: number; sha256: string };
  minimum_license_expiry: string | null;
}

/** The content of a manifest's signed bytes, as far as the client needs it. */
export interface Signed {
  sequence: number;
  /** Milliseconds since 1970. */
  expires_at: number;
  newest: Offer;
  also_available: Offer[];
}

/** Reads the signed content; undefined if a member is missing or has the wrong type. */
export function readSigned(content: Record<string, unknown>): Signed | undefined {
  const { sequence, also_available } = content;
  const expires_at = parseTime(content['expires_at']);
  const newest = readOffer(content);
  if (!Number.isSafeInteger(sequence) || (sequence as number) < 0) return undefined;
  if (expires_at === undefined || !newest || !Array.isArray(also_available)) return undefined;
  const others = also_available.map(readOffer);
  if (!others.every((offer) => offer !== undefined)) return undefined;
  return { sequence: sequence as number, expires_at, newest, also_available: others };
}

function readOffer(value: unknown): Offer | undefined {
  const entry = asObject(value);
  const dmg = asObject(entry?.['dmg']);
  if (!entry || !dmg || !isVersion(entry['version'])) return undefined;
  const { url, size, sha256 } = dmg;
  if (!isWebAddress(url) || !url.startsWith('https://')) return undefined;
  if (!Number.isSafeInteger(size) || (size as number) < 0) return undefined;
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256)) return undefined;
  const { version, minimum_license_expiry } = entry;
  if (minimum_license_expiry !== null && parseTime(minimum_license_expiry) === undefined) return undefined;
  return {
    version,
    dmg: { url, size: size as number, sha256 },
    minimum_license_expiry: minimum_license_expiry as string | null,
  };
}
