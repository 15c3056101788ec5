import type { KeyObject } from 'node:crypto';
import { isObject } from '../../core/json-object.js';
import { isSignature, isThumbprint, signText, thumbprint, verifyText } from '../ed25519/ed25519.js';
import {
  entryOf,
  isLower,
  ManifestError,
  manifestBytes,
  assertMember,
  parseSigned,
} from './manifest-content.js';
import type { ManifestContent, ManifestEntry } from './manifest-content.js';

export { entryOf, MANIFEST_TYPE, ManifestError, manifestBytes, parseSigned } from './manifest-content.js';
export type { ManifestContent, ManifestEntry } from './manifest-content.js';
export { canonicalVersion, compareVersions, isVersion } from './version.js';

/** Half of the largest document that a client reads (256 KiB), because the document is longer than its member `signed`. */
const MAX_SIGNED_CHARACTERS = 128 * 1024;

/** A signature of `signed` in base64url, and the thumbprint of its key. */
export interface ManifestSignature {
  key_id: string;
  signature: string;
}

/** The document that clients receive. All members except `signed` and `signatures` are copies for people. */
export interface SignedManifest extends ManifestSignature {
  version: string;
  dmg_sha256: string;
  minimum_license_expiry: string | null;
  signed: string;
  signatures: ManifestSignature[];
}

/** Signs the bytes of `signed` with each key. The members `signature` and `key_id` of the document are those of the first key. */
export function signManifest(signed: string, keys: readonly KeyObject[]): SignedManifest {
  return assembleManifest(
    signed,
    keys.map((key) => ({ key_id: thumbprint(key), signature: signText(key, signed) })),
  );
}

/** Makes the document from signatures that were made here or elsewhere (HSM, offline machine). The signatures are not verified. */
export function assembleManifest(signed: string, signatures: readonly ManifestSignature[]): SignedManifest {
  const { version, dmg, minimum_license_expiry } = parseSigned(signed);
  const [first] = signatures;
  if (!first) throw new ManifestError('A manifest needs at least one signature.');
  const { signature, key_id } = first;
  const copies = { version, dmg_sha256: dmg.sha256, minimum_license_expiry };
  return { ...copies, signature, key_id, signed, signatures: [...signatures] };
}

/** Returns public keys by `key_id`, for verifyManifest. */
export function trustedKeys(publicKeys: readonly KeyObject[]): Map<string, KeyObject> {
  return new Map(publicKeys.map((key) => [thumbprint(key), key]));
}

/** Reads `signed` and `signatures`, the only members of a document that are used. The signatures are not verified. */
export function readDocument(doc: unknown): Pick<SignedManifest, 'signed' | 'signatures'> {
  assertMember(isObject(doc), 'document', 'an object');
  const { signed, signatures } = doc;
  assertMember(
    typeof signed === 'string' && signed.length <= MAX_SIGNED_CHARACTERS,
    'signed',
    'a string of at most 131,072 characters',
  );
  assertMember(Array.isArray(signatures), 'signatures', 'a list');
  assertMember(signatures.length > 0 && signatures.length <= 16, 'signatures', 'a list of 1 to 16');
  assertMember(signatures.every(isManifestSignature), 'signatures', 'a list of {"key_id","signature"}');
  return { signed, signatures: signatures.map(({ key_id, signature }) => ({ key_id, signature })) };
}

/**
 * Verifies that at least one trusted key signed the document.
 * @param trusted the keys by key_id @returns the content of `signed`; copies outside `signed` are not used @throws ManifestError
 */
export function verifyManifest(doc: unknown, trusted: ReadonlyMap<string, KeyObject>): ManifestContent {
  const { signed, signatures } = readDocument(doc);
  const signaturesByTrustedKeys = signatures.flatMap(({ key_id, signature }) => {
    const key = trusted.get(key_id);
    return key ? [{ key, signature }] : [];
  });
  if (signaturesByTrustedKeys.length === 0)
    throw new ManifestError('The manifest is signed by no trusted key.');
  const isVerified = signaturesByTrustedKeys.some(({ key, signature }) => verifyText(key, signed, signature));
  if (!isVerified) throw new ManifestError('The signature of the manifest is wrong: its bytes were changed.');
  return parseSigned(signed);
}

/**
 * Whether the signature of a trusted key is wrong, even if that of another trusted key is right. A client accepts any right
 * signature, but an application may trust only the key whose signature is wrong. @param trusted the keys by key_id
 */
export function hasWrongSignature(doc: unknown, trusted: ReadonlyMap<string, KeyObject>): boolean {
  const { signed, signatures } = readDocument(doc);
  return signatures.some(({ key_id, signature }) => {
    const key = trusted.get(key_id);
    return key !== undefined && !verifyText(key, signed, signature);
  });
}

/** Returns the name of the first unsigned copy that differs from `signed` or `signatures`; null if all copies match. */
export function findDifferingUnsignedMember(doc: unknown, content: ManifestContent): string | null {
  const outer = isObject(doc) ? doc : {};
  const copies = assembleManifest(manifestBytes(content), readDocument(doc).signatures);
  const names = ['version', 'dmg_sha256', 'minimum_license_expiry', 'signature', 'key_id'] as const;
  return names.find((name) => outer[name] !== copies[name]) ?? null;
}

/** Whether a license with this expiry covers a version with this minimum license expiry. Null is no expiry and no minimum. */
export function covers(minimum: string | null, licenseExpiry: Date | null): boolean {
  return minimum === null || licenseExpiry === null || licenseExpiry.getTime() >= Date.parse(minimum);
}

/**
 * Returns `also_available` of a new manifest: the versions for licenses that expire before its minimum license expiry. For each
 * lower minimum it has the newest version, newest first. The previous manifest and its entries are in this order already: each is
 * older, and has a lower minimum, than the one before. So only those whose minimum is not lower than the new one are left out.
 */
export function alsoAvailable(newMinimum: string | null, previous: ManifestContent): ManifestEntry[] {
  const entries = [entryOf(previous), ...previous.also_available];
  return entries.filter((entry) => isLower(entry.minimum_license_expiry, newMinimum));
}

function isManifestSignature(value: unknown): value is ManifestSignature {
  if (!isObject(value)) return false;
  const { key_id, signature } = value;
  // The form of every key id is checked, because `manifest verify` prints the ids, also those of keys that are not trusted.
  const isId = typeof key_id === 'string' && isThumbprint(key_id);
  return isId && typeof signature === 'string' && isSignature(signature);
}
