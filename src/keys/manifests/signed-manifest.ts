import type { KeyObject } from 'node:crypto';
import { isSignature, signText, thumbprint, verifyText } from '../ed25519.js';
import {
  entryOf,
  isLower,
  isObject,
  ManifestError,
  manifestBytes,
  need,
  parseSigned,
} from './manifest-content.js';
import type { ManifestContent, ManifestEntry } from './manifest-content.js';

export { entryOf, MANIFEST_TYPE, ManifestError, manifestBytes, parseSigned } from './manifest-content.js';
export type { ManifestContent, ManifestEntry } from './manifest-content.js';
export { canonicalVersion, compareVersions, isVersion } from './version.js';

/** Half of what a client reads at most, for as JSON the document is a little longer than what it holds. */
const MOST_CHARACTERS = 128 * 1024;

export interface ManifestSignature {
  key_id: string;
  signature: string;
}

/** What travels. All but `signed` and `signatures` are copies for people to read. */
export interface SignedManifest extends ManifestSignature {
  version: string;
  dmg_sha256: string;
  minimum_license_expiry: string | null;
  signed: string;
  signatures: ManifestSignature[];
}

/** Signs the exact bytes of `signed` with each key; the first gives the outer pair. */
export function signManifest(signed: string, keys: readonly KeyObject[]): SignedManifest {
  return assembleManifest(
    signed,
    keys.map((key) => ({ key_id: thumbprint(key), signature: signText(key, signed) })),
  );
}

/** The document of signatures made here or elsewhere (HSM, air gap); it does not check them. */
export function assembleManifest(signed: string, signatures: readonly ManifestSignature[]): SignedManifest {
  const { version, dmg, minimum_license_expiry } = parseSigned(signed);
  const [first] = signatures;
  if (!first) throw new ManifestError('A manifest needs at least one signature.');
  const { signature, key_id } = first;
  const copies = { version, dmg_sha256: dmg.sha256, minimum_license_expiry };
  return { ...copies, signature, key_id, signed, signatures: [...signatures] };
}

/** Public keys by `key_id`, as verifyManifest takes them. */
export function trustedKeys(publicKeys: readonly KeyObject[]): Map<string, KeyObject> {
  return new Map(publicKeys.map((key) => [thumbprint(key), key]));
}

/** The two members of a document that count, and nothing else of it; it checks no signature. */
export function readDocument(doc: unknown): Pick<SignedManifest, 'signed' | 'signatures'> {
  need(isObject(doc), 'document', 'an object');
  const { signed, signatures } = doc;
  need(
    typeof signed === 'string' && signed.length <= MOST_CHARACTERS,
    'signed',
    'a string of at most 131,072 characters',
  );
  need(Array.isArray(signatures), 'signatures', 'a list');
  need(signatures.length > 0 && signatures.length <= 16, 'signatures', 'a list of 1 to 16');
  need(signatures.every(isManifestSignature), 'signatures', 'a list of {"key_id","signature"}');
  return { signed, signatures: signatures.map(({ key_id, signature }) => ({ key_id, signature })) };
}

/** What a trusted key signed. Any trusted key's signature will do; nothing outside `signed` is believed. */
export function verifyManifest(doc: unknown, trusted: ReadonlyMap<string, KeyObject>): ManifestContent {
  const { signed, signatures } = readDocument(doc);
  const known = signatures.flatMap(({ key_id, signature }) => {
    const key = trusted.get(key_id);
    return key ? [{ key, signature }] : [];
  });
  if (known.length === 0) throw new ManifestError('The manifest is signed by no trusted key.');
  const holds = known.some(({ key, signature }) => verifyText(key, signed, signature));
  if (!holds) throw new ManifestError('The signature of the manifest is wrong: its bytes were changed.');
  return parseSigned(signed);
}

/** The first outer member that is not what `signed` and `signatures` say, or null. */
export function outerMatches(doc: unknown, content: ManifestContent): string | null {
  const outer = isObject(doc) ? doc : {};
  const copies = assembleManifest(manifestBytes(content), readDocument(doc).signatures);
  const names = ['version', 'dmg_sha256', 'minimum_license_expiry', 'signature', 'key_id'] as const;
  return names.find((name) => outer[name] !== copies[name]) ?? null;
}

/** Whether a license that runs until `licenseExpiry` (null: for ever) may have a version of this minimum. */
export function covers(minimum: string | null, licenseExpiry: Date | null): boolean {
  return minimum === null || licenseExpiry === null || licenseExpiry.getTime() >= Date.parse(minimum);
}

/**
 * The newest version for each minimum below the new one: what lapsed licenses may still have, newest first.
 * In a valid manifest the minimums fall from entry to entry, so keeping the lower ones is enough.
 */
export function alsoAvailable(newMinimum: string | null, previous: ManifestContent): ManifestEntry[] {
  const entries = [entryOf(previous), ...previous.also_available];
  return entries.filter((entry) => isLower(entry.minimum_license_expiry, newMinimum));
}

function isManifestSignature(value: unknown): value is ManifestSignature {
  if (!isObject(value)) return false;
  return (
    typeof value.key_id === 'string' && typeof value.signature === 'string' && isSignature(value.signature)
  );
}
