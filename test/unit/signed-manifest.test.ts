import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createPrivateKey, createPublicKey, generateKeyPairSync, hash } from 'node:crypto';
import { anyText } from '../support/any-text.js';
import { isSignature, signText, thumbprint, verifyText } from '../../src/keys/ed25519/ed25519.js';
import {
  assembleManifest,
  canonicalVersion,
  manifestBytes,
  ManifestError,
  findDifferingUnsignedMember,
  parseSigned,
  signManifest,
  trustedKeys,
  verifyManifest,
  type ManifestContent,
  type SignedManifest,
} from '../../src/keys/manifests/signed-manifest.js';
import { areValidSignatures, VERIFIER } from '../manifest/openssl-verification.js';
import { readVectors } from '../support/vectors.js';

interface Vectors {
  key: { d: string; x: string; kid: string };
  signed_sha256: string;
  manifest: SignedManifest;
}

const vectors = readVectors<Vectors>('manifests.json');
const { manifest } = vectors;
const content = parseSigned(manifest.signed);
const privateKey = createPrivateKey({
  key: { kty: 'OKP', crv: 'Ed25519', d: vectors.key.d, x: vectors.key.x },
  format: 'jwk',
});
const publicKey = createPublicKey(privateKey);
const other = generateKeyPairSync('ed25519');
const trusted = trustedKeys([publicKey]);

function withChange(change: (copy: ManifestContent) => object): unknown {
  return { ...content, ...change(structuredClone(content)) };
}

/** Every nth index of a buffer, from 0 on. */
function everyNth(n: number, buffer: Buffer): number[] {
  return Array.from({ length: Math.ceil(buffer.length / n) }, (_, i) => i * n);
}

function withByteChanged(buffer: Buffer, index: number): Buffer {
  const copy = Buffer.from(buffer);
  copy[index] = (copy[index] ?? 0) ^ 1;
  return copy;
}

/** A JSON.parse reviver that reverses the order of the members of every object. */
function reverse(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toReversed());
}

describe('a signed manifest', () => {
  test('is byte for byte the manifest of the vectors', () => {
    expect(manifest.signed).toHaveLength(586);
    expect(hash('sha256', manifest.signed)).toBe(vectors.signed_sha256);
    expect(manifestBytes(content)).toBe(manifest.signed);
    expect(thumbprint(publicKey)).toBe(vectors.key.kid);
    expect(JSON.stringify(signManifest(manifest.signed, [privateKey]))).toBe(JSON.stringify(manifest));
  });

  test(`is accepted by ${VERIFIER}, and refused after one changed byte`, async () => {
    const made = signManifest(manifest.signed, [privateKey]);
    const bytes = Buffer.from(made.signed);
    const signature = Buffer.from(made.signature, 'base64url');
    // Only some bytes are changed, because each verification by openssl starts a process.
    const changes = [
      ...everyNth(45, bytes).map((i) => ({ bytes: withByteChanged(bytes, i), signature })),
      ...everyNth(9, signature).map((i) => ({ bytes, signature: withByteChanged(signature, i) })),
    ];
    const checks = [{ bytes, signature }, ...changes].map((check) => ({ key: publicKey, ...check }));
    expect(await areValidSignatures(checks)).toEqual([true, ...changes.map(() => false)]);
  });

  test('is refused by the service after a change of any one byte', () => {
    const bytes = Buffer.from(manifest.signed);
    for (let i = 0; i < bytes.length; i += 1) {
      const doc = { ...manifest, signed: withByteChanged(bytes, i).toString() };
      expect(() => verifyManifest(doc, trusted)).toThrow('The signature of the manifest is wrong');
    }
  });

  test('is ASCII whatever its product is called, and has the same content when it is read again', () => {
    const product = anyText({ minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(product, (name) => {
        const signed = manifestBytes({ ...content, product: name });
        expect(signed).toMatch(/^[\x20-\x7f]*$/);
        expect(parseSigned(signed)).toEqual({ ...content, product: name });
      }),
    );
    expect(manifestBytes({ ...content, product: 'Ä🦭' })).toContain('"\\u00c4\\ud83e\\uddad"');
  });

  test('has its members in a fixed order, also in nested objects, whatever order the caller gives', () => {
    const reversed = JSON.parse(JSON.stringify(content), reverse) as ManifestContent;
    expect(JSON.stringify(reversed)).not.toBe(manifest.signed);
    expect(manifestBytes(reversed)).toBe(manifest.signed);
  });

  test('has at most 16 signatures, each a thumbprint and a signature', () => {
    const [signature] = manifest.signatures;
    const withSignatures = (signatures: unknown[]) => () =>
      verifyManifest({ ...manifest, signatures }, trusted);
    expect(withSignatures(Array(16).fill(signature))()).toEqual(content);
    expect(withSignatures(Array(17).fill(signature))).toThrow("The manifest's signatures must be ");
    const inList = { key_id: manifest.key_id, signature: [manifest.signature] };
    const otherIds = ['other', `\u001b${manifest.key_id.slice(1)}`, [manifest.key_id]].map((key_id) => ({
      ...signature,
      key_id,
    }));
    for (const wrong of [
      null,
      {},
      { ...signature, key_id: 7 },
      { ...signature, signature: 7 },
      inList,
      ...otherIds,
    ])
      expect(withSignatures([signature, wrong])).toThrow("The manifest's signatures must be ");
  });

  test('has at least one signature', () => {
    expect(() => signManifest(manifest.signed, [])).toThrow('A manifest needs at least one signature.');
  });

  test('has urls of at most 2,048 characters', () => {
    const url = `https://dl.example.com/${'x'.repeat(2_025)}`;
    expect(url).toHaveLength(2_048);
    const value = withChange(({ dmg }) => ({ dmg: { ...dmg, url } })) as ManifestContent;
    expect(parseSigned(manifestBytes(value)).dmg.url).toBe(url);
    expect(() => manifestBytes({ ...value, dmg: { ...value.dmg, url: `${url}x` } })).toThrow('dmg.url');
  });

  test('is refused if its member `signed` is not JSON', () => {
    expect(() => parseSigned('{"_type":')).toThrow('The member `signed` of the manifest must be JSON.');
  });
});

describe('verifying a manifest', () => {
  test('reads what is signed and never the copies outside it', () => {
    const withFalseCopies = { ...manifest, version: '9.9.9', dmg_sha256: 'x', minimum_license_expiry: null };
    expect(verifyManifest(withFalseCopies, trusted)).toEqual(content);
    expect(verifyManifest({ signed: manifest.signed, signatures: manifest.signatures }, trusted)).toEqual(
      content,
    );
  });

  test('accepts any signature of any trusted key, so that keys can be rotated', () => {
    const both = signManifest(manifest.signed, [other.privateKey, privateKey]);
    expect(both.key_id).toBe(thumbprint(other.publicKey));
    expect(both.signature).toBe(both.signatures[0]?.signature);
    for (const keys of [[publicKey], [other.publicKey], [publicKey, other.publicKey]]) {
      expect(verifyManifest(both, trustedKeys(keys))).toEqual(content);
    }
  });

  test('needs one good signature, whatever other signatures are beside it', () => {
    const both = signManifest(manifest.signed, [other.privateKey, privateKey]);
    const signatures = both.signatures.map(({ key_id }) => ({ key_id, signature: manifest.signature }));
    expect(verifyManifest({ ...both, signatures }, trustedKeys([other.publicKey, publicKey]))).toEqual(
      content,
    );
  });

  test('distinguishes an untrusted key from a wrong signature', () => {
    const byOtherKey = signManifest(manifest.signed, [other.privateKey]);
    expect(() => verifyManifest(byOtherKey, trusted)).toThrow('The manifest is signed by no trusted key.');
    const withFalseKeyId = assembleManifest(manifest.signed, [
      { key_id: vectors.key.kid, signature: byOtherKey.signature },
    ]);
    expect(() => verifyManifest(withFalseKeyId, trusted)).toThrow('The signature of the manifest is wrong');
    expect(() => verifyManifest(manifest, new Map())).toThrow('The manifest is signed by no trusted key.');
  });

  test('refuses a second spelling of a signature', () => {
    const [last, body] = [manifest.signature.slice(-1), manifest.signature.slice(0, -1)];
    expect(last).toBe('g');
    for (const signature of [`${body}h`, `${manifest.signature}==`, `${manifest.signature} `]) {
      const signatures = [{ key_id: manifest.key_id, signature }];
      expect(() => verifyManifest({ ...manifest, signatures }, trusted)).toThrow(ManifestError);
      expect(verifyText(publicKey, manifest.signed, signature)).toBe(false);
    }
    expect(verifyText(publicKey, manifest.signed, manifest.signature)).toBe(true);
  });

  test.each([
    [null, 'document'],
    [[], 'document'],
    ['text', 'document'],
    [{}, 'signed'],
    [{ ...manifest, signed: content }, 'signed'],
    [{ ...manifest, signatures: undefined }, 'signatures'],
    [{ ...manifest, signatures: [] }, 'signatures'],
    [{ ...manifest, signatures: Array(17).fill(manifest.signatures[0]) }, 'signatures'],
    [{ ...manifest, signatures: [null] }, 'signatures'],
    [{ ...manifest, signatures: [{ key_id: 1, signature: manifest.signature }] }, 'signatures'],
  ])('names the wrong member of a malformed document: %#', (doc, member) => {
    expect(() => verifyManifest(doc, trusted)).toThrow(
      new RegExp(`^The manifest's ${member} must be .*\\w{4}.*\\.$`),
    );
  });

  test('refuses a `signed` of more than 131,072 characters before it verifies a signature', () => {
    const { signatures } = manifest;
    expect(() => verifyManifest({ signed: ' '.repeat(131_072), signatures }, trusted)).toThrow(
      'The signature of the manifest is wrong',
    );
    expect(() => verifyManifest({ signed: ' '.repeat(131_073), signatures }, trusted)).toThrow(
      "The manifest's signed must be a string of at most 131,072 characters",
    );
  });

  test('never throws anything but a ManifestError, whatever it is given', () => {
    const doc = fc.oneof(
      fc.anything(),
      fc.record({ signed: fc.string(), signatures: fc.array(fc.anything()) }),
      fc.json().map((signed) => signManifestUnchecked(signed)),
    );
    fc.assert(
      fc.property(doc, (value) => {
        expect(() => verifyManifest(value, trusted)).toThrow(ManifestError);
      }),
    );
  });
});

describe('a genuine signature over a wrong manifest is refused, and the sentence names the member:', () => {
  const [older] = content.also_available;
  const wrong: [string, (copy: ManifestContent) => object][] = [
    ['_type', () => ({ _type: 'update-manifest/v2' })],
    ['product', () => ({ product: '' })],
    ['product', () => ({ product: 7 })],
    ['product', () => ({ product: null })],
    ['issued_at', () => ({ issued_at: 7 })],
    ['issued_at', () => ({ issued_at: ['2027-01-04T00:00:00Z'] })],
    ['version', () => ({ version: ['3.3'] })],
    ['issued_at', () => ({ issued_at: '2027-13-04T00:00:00Z' })],
    ['issued_at', () => ({ issued_at: '2027-01-04T00:00:00.000Z' })],
    ['issued_at', () => ({ issued_at: ' 2027-01-04T00:00:00Z' })],
    ['issued_at', () => ({ issued_at: '2027-01-04T00:00:00Z ' })],
    ['version', () => ({ version: 7 })],
    ['dmg', () => ({ dmg: [] })],
    ['dmg', () => ({ dmg: 'x' })],
    ['dmg.url', ({ dmg }) => ({ dmg: { ...dmg, url: 7 } })],
    ['dmg.url', ({ dmg }) => ({ dmg: { ...dmg, url: ['https://dl.example.com/App.dmg'] } })],
    ['dmg.url', ({ dmg }) => ({ dmg: { ...dmg, url: `https://dl.example.com/${'x'.repeat(2_026)}` } })],
    ['dmg.url', ({ dmg }) => ({ dmg: { ...dmg, url: 'https://dl.example.com/\ud800' } })],
    ['dmg.size', ({ dmg }) => ({ dmg: { ...dmg, size: 0.5 } })],
    ['dmg.size', ({ dmg }) => ({ dmg: { ...dmg, size: -1 } })],
    ['dmg.size', ({ dmg }) => ({ dmg: { ...dmg, size: '1' } })],
    ['dmg.sha256', ({ dmg }) => ({ dmg: { ...dmg, sha256: [dmg.sha256] } })],
    ['dmg.sha256', ({ dmg }) => ({ dmg: { ...dmg, sha256: `${dmg.sha256}0` } })],
    ['dmg.sha256', ({ dmg }) => ({ dmg: { ...dmg, sha256: `x${dmg.sha256}` } })],
    ['minimum_license_expiry', () => ({ minimum_license_expiry: 'x' })],
    ['also_available', () => ({ also_available: {} })],
    ['also_available\\[0\\]', () => ({ also_available: [{ ...older, mirror: 'x' }] })],
    ['also_available\\[0\\]', () => ({ also_available: [[]] })],
    [
      'also_available\\[0\\].dmg.size',
      () => ({ also_available: [{ ...older, dmg: { ...older!.dmg, size: 0 } }] }),
    ],
    ['previous', () => ({ previous: 7 })],
    ['product', () => ({ product: '\ud800' })],
    ['sequence', () => ({ sequence: 0 })],
    ['sequence', () => ({ sequence: 1.5 })],
    ['sequence', () => ({ sequence: 2 ** 53 })],
    ['sequence', () => ({ sequence: '42' })],
    ['issued_at', () => ({ issued_at: '2027-01-04' })],
    ['issued_at', () => ({ issued_at: '2027-02-30T00:00:00Z' })],
    ['expires_at', () => ({ expires_at: '2027-04-04T09:00:00+01:00' })],
    ['expires_at', ({ issued_at }) => ({ expires_at: issued_at })],
    ['version', () => ({ version: '3.2.0-beta' })],
    ['dmg', () => ({ dmg: null })],
    ['dmg.url', ({ dmg }) => ({ dmg: { ...dmg, url: 'App.dmg' } })],
    ['dmg.url', ({ dmg }) => ({ dmg: { ...dmg, url: `${dmg.url}\n` } })],
    ['dmg.url', ({ dmg }) => ({ dmg: { ...dmg, url: 'https://dl.example.com/My App.dmg' } })],
    ['dmg.size', ({ dmg }) => ({ dmg: { ...dmg, size: 0 } })],
    ['dmg.sha256', ({ dmg }) => ({ dmg: { ...dmg, sha256: dmg.sha256.toUpperCase() } })],
    ['dmg', ({ dmg }) => ({ dmg: { ...dmg, mirror: 'x' } })],
    ['minimum_license_expiry', () => ({ minimum_license_expiry: undefined })],
    ['also_available', () => ({ also_available: null })],
    ['also_available\\[0\\]', () => ({ also_available: [null] })],
    ['also_available\\[0\\].version', () => ({ also_available: [{ ...older, version: '3.2' }] })],
    ['also_available\\[0\\].minimum_license_expiry', () => ({ minimum_license_expiry: null })],
    ['also_available\\[1\\].version', () => ({ also_available: [older, older] })],
    ['previous', () => ({ previous: 'x' })],
    ['previous', () => ({ previous: undefined })],
    ['signed', () => ({ channel: 'beta' })],
  ];
  test.each(wrong)('%s (%#)', (member, change) => {
    const sentence = new RegExp(`^The manifest's ${member} must be .*\\w{4}.*\\.$`);
    const value = withChange(change);
    expect(() => verifyManifest(signManifestUnchecked(JSON.stringify(value)), trusted)).toThrow(sentence);
    expect(() => manifestBytes(value as ManifestContent)).toThrow(sentence);
  });

  test.each([
    ['a member twice', manifest.signed.replace('"version"', '"version":"9.9.9","version"')],
    ['spaces', JSON.stringify(content, null, 1)],
    ['another order', JSON.stringify(Object.fromEntries(Object.entries(content).toReversed()))],
    ['a number in another spelling', manifest.signed.replace(':42,', ':4.2e1,')],
    ['bytes that are not ASCII', manifest.signed.replace('com.example', 'cöm.example')],
  ])('%s', (_name, signed) => {
    expect(JSON.parse(signed)).toMatchObject({ version: content.version });
    expect(() => verifyManifest(signManifestUnchecked(signed), trusted)).toThrow(
      'The member `signed` must be ASCII JSON without spaces, each member once and in its order.',
    );
  });
});

describe('the copies outside `signed`', () => {
  test('are equal to the signed values in a manifest of the publishing commands', () => {
    expect(findDifferingUnsignedMember(manifest, content)).toBeNull();
  });

  test.each([
    ['version', { version: '3.2' }],
    ['dmg_sha256', { dmg_sha256: content.also_available[0]?.dmg.sha256 }],
    ['minimum_license_expiry', { minimum_license_expiry: null }],
    ['minimum_license_expiry', { minimum_license_expiry: undefined }],
    ['signature', { signature: 'x' }],
    ['key_id', { key_id: undefined }],
    ['version', { version: '4', key_id: 'x' }],
  ])('are named where they differ: %s', (member, change) => {
    expect(findDifferingUnsignedMember({ ...manifest, ...change }, content)).toBe(member);
  });
});

/** Signs any text with the trusted key, also text that the publishing commands refuse to sign. */
function signManifestUnchecked(signed: string): unknown {
  return {
    ...manifest,
    signed,
    signatures: [{ key_id: vectors.key.kid, signature: signText(privateKey, signed) }],
  };
}

test('a signature is 64 bytes in base64url, with no text before or after them', () => {
  const signature = Buffer.alloc(64, 7).toString('base64url');
  expect(isSignature(signature)).toBe(true);
  for (const wrong of [`A${signature}`, `${signature}A`, signature.slice(1), `${signature.slice(0, -1)}x`])
    expect(isSignature(wrong)).toBe(false);
});

test('all spellings of a version have one canonical text, which no other version has', () => {
  for (const spelling of ['3.2', '3.2.0', '03.002', '3.2.0.0', '003.02.00'])
    expect(canonicalVersion(spelling)).toBe('3.2');
  // The canonical text has no leading zeros, so a part that is zero becomes empty: 3.0.2 becomes 3..2.
  expect(['32', '3.20', '3.0.2', '0.3.2'].map(canonicalVersion)).toEqual(['32', '3.20', '3..2', '.3.2']);
});
