import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { ManifestContent, SignedManifest } from '../../src/keys/manifests/signed-manifest.js';
import { digest, openManifests, signUnchecked } from './hand-signed-manifests.js';
import { downloadUrl } from './publish.js';

/** Returns 4 January of the year 20xx. @param number its last two digits */
const year = (number: number) => `20${number}-01-04T00:00:00Z`;
/** Minimum license expiries, those of the published versions among them. */
export const [JANUARY_2025, JANUARY_2026, JANUARY_2027, JANUARY_2028, JANUARY_2029] = [
  year(25),
  year(26),
  year(27),
  year(28),
  year(29),
] as const;
/**
 * Publishes 1.0.0 for all licenses, 2.0.0, 3.0.0 (then withdrawn) and 4.0.0, which is live with sequence 5.
 * @returns the live manifest, and the content of a valid next one
 */
export async function publishHistory(
  databaseUrl: string,
  key: KeyObject,
): Promise<{ live: SignedManifest; next: ManifestContent }> {
  await using manifests = await openManifests(databaseUrl, key);
  await manifests.publish(manifests.next('1.0.0'));
  await manifests.publish(manifests.next('2.0.0', JANUARY_2025));
  await manifests.publish(manifests.next('3.0.0', JANUARY_2027));
  await manifests.publish(await manifests.withdrawal(), true);
  const live = await manifests.publish(manifests.next('4.0.0', JANUARY_2028));
  return { live, next: manifests.next('5.0.0', JANUARY_2029) };
}

const untrusted = generateKeyPairSync('ed25519').privateKey;

/** A manifest with one mistake, and the message with which it is refused. */
export interface Mistake {
  readonly sentence: string;
  /** Changes of the signed content. */
  readonly content?: (next: ManifestContent) => object;
  /** Changes the signed bytes. */
  readonly signed?: (signed: string) => string;
  /** Changes the document after it was signed. */
  readonly document?: (document: SignedManifest, live: SignedManifest) => unknown;
  /** The key that signs, in place of the trusted one. */
  readonly signingKey?: KeyObject;
  /** More arguments of the command. */
  readonly args?: string[];
}

const dmg = (version: string) => ({ url: downloadUrl(version), size: 1_000_000, sha256: digest(version) });
const entry = (version: string, minimum_license_expiry: string | null) => ({
  version,
  dmg: dmg(version),
  minimum_license_expiry,
});
/** Version 4.0.0 again, without itself in also_available. */
const again = ({ also_available }: ManifestContent) => ({
  ...entry('4.0.0', JANUARY_2028),
  also_available: also_available.slice(1),
});
const changeVersion2 = ({ also_available }: ManifestContent, change: object) => ({
  also_available: also_available.map((one) => (one.version === '2.0.0' ? { ...one, ...change } : one)),
});
/** Adds a version to also_available. */
const addAvailable = ({ also_available: [newest, ...rest] }: ManifestContent, added: object) => ({
  also_available: [newest, added, ...rest],
});

const anotherIsLive = 'Another manifest is live now (sequence 5, version 4.0.0): sign again on top of it.';
const spelling = 'The member `signed` must be ASCII JSON without spaces, each member once and in its order.';
const changedBytes = 'The signature of the manifest is wrong: its bytes were changed.';
const wrongImage = (version: string) =>
  `Version ${version} is published with another image: give the new image a new version.`;
const minimumRaised = (version: string) =>
  `Version ${version} is published already, and its minimum license expiry cannot be raised.`;
const copyDiffers = (member: string) => `The unsigned copy of ${member} differs from the signed value.`;

/** Mistakes in manifest 5.0.0, published after 1.0.0 for all licenses, 2.0.0, 3.0.0 (withdrawn) and 4.0.0 (sequence 5). */
export const MISTAKES: Record<string, Mistake> = {
  'an untrusted key': { sentence: 'The manifest is signed by no trusted key.', signingKey: untrusted },
  'a signature of another manifest': {
    sentence: changedBytes,
    document: (signedManifest, live) => ({ ...signedManifest, signatures: live.signatures }),
  },
  'a wrong signature of a trusted key beside a right one': {
    sentence:
      'A signature of a trusted key is wrong: applications that trust only this key would refuse the manifest.',
    document: (signedManifest, live) => ({
      ...signedManifest,
      signatures: [...signedManifest.signatures, ...live.signatures],
    }),
  },
  'bytes changed after they were signed': {
    sentence: changedBytes,
    document: (signedManifest) => ({
      ...signedManifest,
      signed: signedManifest.signed.replace('5.0.0', '5.0.1'),
    }),
  },
  'the live manifest with another signature': {
    sentence:
      'This manifest is already live with other signatures: sign the version again with manifest refresh.',
    document: (_signedManifest, live) => ({
      ...live,
      signatures: [...live.signatures, { ...live.signatures[0]!, key_id: 'A'.repeat(43) }],
    }),
  },
  'the sequence of the live manifest': {
    sentence: 'The live manifest has sequence 5; this one has 5 and must be above it.',
    content: () => ({ sequence: 5 }),
  },
  'a lower sequence': {
    sentence: 'The live manifest has sequence 5; this one has 1 and must be above it.',
    content: () => ({ sequence: 1 }),
  },
  'a lower version': {
    sentence:
      'The live version is 4.0.0; this one is 3.10.0 and must not be below it (unless it is published with --withdraw).',
    content: (next) => ({ ...again(next), ...entry('3.10.0', JANUARY_2027) }),
  },
  'the same version with another image': {
    sentence: wrongImage('4.0.0'),
    content: (next) => ({ ...again(next), dmg: next.dmg }),
  },
  'the same version, spelled otherwise, with another image': {
    sentence: wrongImage('4'),
    content: (next) => ({ ...again(next), ...entry('4', JANUARY_2028) }),
  },
  'a minimum raised for the live version': {
    sentence: minimumRaised('4.0.0'),
    content: (next) => ({ ...again(next), minimum_license_expiry: '2028-01-04T00:00:01Z' }),
  },
  'a minimum raised for an older version': {
    sentence: minimumRaised('2.0.0'),
    content: (next) => changeVersion2(next, { minimum_license_expiry: JANUARY_2026 }),
  },
  'a minimum lowered for an older version alone': {
    sentence:
      'Version 2.0.0 of also_available has another minimum license expiry than it was published with.',
    content: (next) => changeVersion2(next, { minimum_license_expiry: '2024-01-04T00:00:00Z' }),
  },
  'a minimum added to a version for all licenses': {
    sentence: minimumRaised('1.0.0'),
    content: ({ also_available }) => ({
      also_available: [...also_available.slice(0, -1), entry('1.0.0', '2020-01-01T00:00:00Z')],
    }),
  },
  'an expired manifest': {
    sentence: 'This manifest expired at 2020-02-01T00:00:00Z.',
    content: () => ({ issued_at: '2020-01-01T00:00:00Z', expires_at: '2020-02-01T00:00:00Z' }),
  },
  'a url without https': {
    sentence: 'Every url of a manifest must begin with https:// and a host.',
    content: (next) => ({ dmg: { ...next.dmg, url: 'http://dl.example.com/App.dmg' } }),
  },
  'the url of an older version without https': {
    sentence: 'Every url of a manifest must begin with https:// and a host.',
    content: (next) =>
      changeVersion2(next, { dmg: { ...dmg('2.0.0'), url: 'http://dl.example.com/App.dmg' } }),
  },
  'another unsigned copy of version': {
    sentence: copyDiffers('version'),
    document: (signedManifest) => ({ ...signedManifest, version: '5.0' }),
  },
  'another unsigned copy of dmg_sha256': {
    sentence: copyDiffers('dmg_sha256'),
    document: (signedManifest) => ({ ...signedManifest, dmg_sha256: digest('x') }),
  },
  'another unsigned copy of minimum_license_expiry': {
    sentence: copyDiffers('minimum_license_expiry'),
    document: (signedManifest) => ({ ...signedManifest, minimum_license_expiry: null }),
  },
  'another unsigned copy of signature': {
    sentence: copyDiffers('signature'),
    document: (signedManifest, live) => ({ ...signedManifest, signature: live.signature }),
  },
  'another unsigned copy of key_id': {
    sentence: copyDiffers('key_id'),
    document: (signedManifest) => ({ ...signedManifest, key_id: 'x' }),
  },
  'another predecessor': { sentence: anotherIsLive, content: () => ({ previous: digest('another') }) },
  'no predecessor': { sentence: anotherIsLive, content: () => ({ previous: null }) },
  'another product': {
    sentence: 'This manifest is for the product com.example.other; this server serves com.example.app.',
    content: () => ({ product: 'com.example.other' }),
  },
  'an older version that was never published': {
    sentence: 'Version 2.5.0 of also_available was never published.',
    content: (next) => addAvailable(next, entry('2.5.0', JANUARY_2026)),
  },
  'an older version that was withdrawn': {
    sentence: 'Version 3.0.0 of also_available was withdrawn.',
    content: (next) => addAvailable(next, entry('3.0.0', JANUARY_2027)),
  },
  'an older version with another image': {
    sentence: wrongImage('2.0.0'),
    content: (next) => changeVersion2(next, { dmg: next.dmg }),
  },
  '--withdraw with a new version': {
    sentence: 'This manifest withdraws nothing: the live version is 4.0.0, and this one is 5.0.0.',
    args: ['--withdraw'],
  },
  '--withdraw with a refresh': {
    sentence: 'This manifest withdraws nothing: the live version is 4.0.0, and this one is 4.0.0.',
    content: again,
    args: ['--withdraw'],
  },
  'a withdrawal to an unpublished version': {
    sentence: 'Version 1.5.0 was never published, so it cannot be the target of a withdrawal.',
    content: () => ({ ...entry('1.5.0', null), also_available: [] }),
    args: ['--withdraw'],
  },
  'a withdrawal to a withdrawn version': {
    sentence: 'Version 3.0.0 is withdrawn.',
    content: (next) => ({ ...again(next), ...entry('3.0.0', JANUARY_2027) }),
    args: ['--withdraw'],
  },
  'a withdrawal without --withdraw': {
    sentence:
      'The live version is 4.0.0; this one is 2.0.0 and must not be below it (unless it is published with --withdraw).',
    content: (next) => ({ ...entry('2.0.0', JANUARY_2025), also_available: next.also_available.slice(2) }),
  },
  'an unknown member': {
    sentence: `The manifest's signed must be free of unknown members, and has "channel".`,
    content: () => ({ channel: 'beta' }),
  },
  'text that is not ASCII': {
    sentence: spelling,
    signed: (signed) => signed.replace('com.example', 'cöm.example'),
  },
  'spaces between members': {
    sentence: spelling,
    signed: (signed) => JSON.stringify(JSON.parse(signed), null, 1),
  },
  'a member twice': {
    sentence: spelling,
    signed: (signed) => signed.replace('"version"', '"version":"9.9.9","version"'),
  },
};

/** Signs the next manifest with this mistake. */
export function signWithMistake(
  { content, signed, document, signingKey }: Mistake,
  { next, live, key }: { next: ManifestContent; live: SignedManifest; key: KeyObject },
): unknown {
  const changed = { ...next, ...content?.(next) };
  const text = JSON.stringify(changed);
  const signedDocument = signUnchecked(signed?.(text) ?? text, changed, signingKey ?? key);
  return document?.(signedDocument, live) ?? signedDocument;
}
