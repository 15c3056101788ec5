import { isObject } from '../../core/json-object.js';
import { compareVersions, isVersion } from './version.js';

/** The value of the member `_type`. */
export const MANIFEST_TYPE = 'update-manifest/v1';

/**
 * A version that a manifest offers: its disk image, and the expiry that a license must have at least to cover the version (null:
 * every license covers it).
 */
export interface ManifestEntry {
  version: string;
  dmg: { url: string; size: number; sha256: string };
  minimum_license_expiry: string | null;
}

/**
 * The content of the member `signed` (docs/keys.md#manifests). Times are RFC 3339 in UTC in whole seconds, hashes are lower-case
 * hex. `previous` is the SHA-256 of the preceding `signed`; null in the first manifest.
 */
export interface ManifestContent extends ManifestEntry {
  _type: typeof MANIFEST_TYPE;
  product: string;
  sequence: number;
  issued_at: string;
  expires_at: string;
  also_available: ManifestEntry[];
  previous: string | null;
}

const ENTRY_MEMBERS = ['version', 'dmg', 'minimum_license_expiry'];
const DMG_MEMBERS = ['url', 'size', 'sha256'];
const HEAD_MEMBERS = ['_type', 'product', 'sequence', 'issued_at', 'expires_at'];
const CONTENT_MEMBERS = [...HEAD_MEMBERS, ...ENTRY_MEMBERS, 'also_available', 'previous'];
const AN_INSTANT = 'an instant such as 2027-01-04T00:00:00Z';
const A_SHA256 = 'a SHA-256 of 64 lower-case hex digits';

type Members = Record<string, unknown>;

/** The error of a manifest that is refused. Its message is one sentence that names the wrong member or says what is wrong. */
export class ManifestError extends Error {
  override readonly name = 'ManifestError';
}

/**
 * Returns the text whose bytes are signed: ASCII JSON, members in the order of the format, only whole numbers.
 * @throws ManifestError if the content is invalid, because every client would refuse it
 */
export function manifestBytes(content: ManifestContent): string {
  return asciiJson(readContent(content));
}

/**
 * Parses the member `signed` of a manifest. The signature is not verified.
 * @throws ManifestError if it is not exactly the text that manifestBytes writes, for example if it has a member twice
 */
export function parseSigned(signed: string): ManifestContent {
  const content = readContent(parseJson(signed));
  if (asciiJson(content) === signed) return content;
  throw new ManifestError(
    'The member `signed` must be ASCII JSON without spaces, each member once and in its order.',
  );
}

/** Returns the version of a manifest as an entry, the form that `also_available` of a later manifest has. */
export function entryOf({ version, dmg, minimum_license_expiry }: ManifestEntry): ManifestEntry {
  return { version, dmg, minimum_license_expiry };
}

/** Whether a minimum license expiry is lower than another. Null, with which every license covers the version, is the lowest. */
export function isLower(minimum: string | null, other: string | null): boolean {
  return other !== null && (minimum === null || Date.parse(minimum) < Date.parse(other));
}

/** Checks the content, and builds the result member by member, so that its members are in the order of the format. */
function readContent(value: unknown): ManifestContent {
  const content = readMembers(value, 'signed', CONTENT_MEMBERS);
  const { _type: type, product, sequence, issued_at, expires_at, previous } = content;
  assertMember(type === MANIFEST_TYPE, '_type', `"${MANIFEST_TYPE}"`);
  assertMember(typeof product === 'string' && product !== '' && product.isWellFormed(), 'product', 'a name');
  assertMember(isCount(sequence), 'sequence', 'a whole number above 0');
  assertMember(isInstant(issued_at), 'issued_at', AN_INSTANT);
  assertMember(isInstant(expires_at), 'expires_at', AN_INSTANT);
  assertMember(expires_at > issued_at, 'expires_at', 'later than issued_at');
  const latest = readEntry(content, '');
  const also_available = readAlsoAvailable(content.also_available, latest);
  assertMember(previous === null || isSha256(previous), 'previous', `null or ${A_SHA256}`);
  const head = { product, sequence, issued_at, expires_at };
  return { _type: MANIFEST_TYPE, ...head, ...latest, also_available, previous };
}

function readEntry({ version, dmg, minimum_license_expiry }: Members, path: string): ManifestEntry {
  assertMember(
    typeof version === 'string' && isVersion(version),
    `${path}version`,
    'one to four dotted numbers',
  );
  const { url, size, sha256 } = readMembers(dmg, `${path}dmg`, DMG_MEMBERS);
  assertMember(
    isUrl(url),
    `${path}dmg.url`,
    'an absolute URL of at most 2,048 characters, without spaces and backslashes',
  );
  assertMember(isCount(size), `${path}dmg.size`, 'a whole number of bytes above 0');
  assertMember(isSha256(sha256), `${path}dmg.sha256`, A_SHA256);
  const minimum = minimum_license_expiry;
  assertMember(
    minimum === null || isInstant(minimum),
    `${path}minimum_license_expiry`,
    `null or ${AN_INSTANT}`,
  );
  return { version, dmg: { url, size, sha256 }, minimum_license_expiry: minimum };
}

/**
 * Reads `also_available`. Each entry must be older and have a lower minimum license expiry than the entry before it, and the first
 * entry than the version of the manifest; otherwise clients would be offered a wrong version.
 */
function readAlsoAvailable(value: unknown, latest: ManifestEntry): ManifestEntry[] {
  assertMember(Array.isArray(value), 'also_available', 'a list');
  let before = latest;
  return value.map((item: unknown, i) => {
    const path = `also_available[${i}]`;
    const entry = readEntry(readMembers(item, path, ENTRY_MEMBERS), `${path}.`);
    const isOlder = compareVersions(entry.version, before.version) < 0;
    assertMember(isOlder, `${path}.version`, 'below the version before it');
    const hasLowerMinimum = isLower(entry.minimum_license_expiry, before.minimum_license_expiry);
    assertMember(hasLowerMinimum, `${path}.minimum_license_expiry`, 'below that of the version before it');
    before = entry;
    return entry;
  });
}

/** Returns the members of an object. @throws ManifestError if the value is no object or has a member that is not known */
function readMembers(value: unknown, path: string, known: readonly string[]): Members {
  assertMember(isObject(value), path, 'an object');
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  assertMember(unknown === undefined, path, `free of unknown members, and has ${JSON.stringify(unknown)}`);
  return value;
}

/** Checks a condition about a member. @throws ManifestError that says what the member must be, if the condition is false */
export function assertMember(condition: boolean, member: string, requirement: string): asserts condition {
  if (!condition) throw new ManifestError(`The manifest's ${member} must be ${requirement}.`);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0;
}

/**
 * Whether a value is an absolute URL. White space, control characters and backslashes are refused, because another parser might
 * remove or change them.
 */
function isUrl(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > 2048 || !value.isWellFormed()) return false;
  return URL.canParse(value) && !/[\s\p{Cc}\\]/u.test(value);
}

/**
 * Whether a URL is https with a host right after the slashes, and no percent sign in the host. A browser takes the path of
 * `https:///host/` for the host, and other clients refuse the whole manifest. `readContent` does not check this, so that a manifest
 * that was published before this rule stays readable.
 */
export const isHttpsWithHost = (url: string): boolean => /^https:\/\/[^/?#%]+([/?#]|$)/.test(url);

function isSha256(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
}

/** Whether a value is a time of the format. The time is parsed and formatted again, to refuse days such as 31 February. */
function isInstant(value: unknown): value is string {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(value)) return false;
  const time = Date.parse(value);
  return !Number.isNaN(time) && new Date(time).toISOString() === value.replace('Z', '.000Z');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ManifestError('The member `signed` of the manifest must be JSON.');
  }
}

/** Escapes all characters outside ASCII, so that every reader decodes the same text. */
function asciiJson(content: ManifestContent): string {
  return JSON.stringify(content).replaceAll(/[^\0-\x7f]/g, escapeUnit);
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
