import { beforeAll, describe, expect, test } from '@jest/globals';
import { trustedKey } from '../../client/src/manifest-signature.js';
import type { Offer } from '../../client/src/signed-manifest.js';
import type { SeenSequence } from '../../client/src/state.js';
import { checkManifest } from '../../client/src/update.js';
import { isAbove, isVersion as isVersionOfClient } from '../../client/src/version.js';
import { publicKeyFromX } from '../../src/keys/ed25519/ed25519.js';
import {
  compareVersions,
  covers,
  isVersion,
  findDifferingUnsignedMember,
  trustedKeys,
  verifyManifest,
} from '../../src/keys/manifests/signed-manifest.js';
import { areValidSignatures, VERIFIER, type SignatureCheck } from '../manifest/openssl-verification.js';
import { readVectors } from '../support/vectors.js';

interface Case {
  name: string;
  state: {
    product: string;
    app_version: string;
    license: { expires_at: string | null } | null;
    now: string;
    trusted_keys: string[];
    seen: Record<string, SeenSequence>;
  };
  body: unknown;
  expected: {
    available: boolean;
    offer?: Offer;
    newest_version?: string;
    reason?: string;
    signed_by: string[];
    verifies: boolean;
    seen: Record<string, SeenSequence>;
  };
}

const vectors = readVectors<{
  unknown_key: { x: string };
  cases: Case[];
  public_keys: { name: string; x: string; is_public_key: boolean }[];
  compare_versions: { name: string; a: string; b: string; sign: number }[];
  version_shapes: { name: string; text: string; is_version: boolean }[];
  covers: {
    name: string;
    minimum_license_expiry: string | null;
    license_expires_at: string | null;
    covered: boolean;
  }[];
}>('manifests.json');

test('no client in manifests.json trusts the unknown key', () => {
  const trusting = vectors.cases.filter(({ state }) => state.trusted_keys.includes(vectors.unknown_key.x));
  expect(trusting.map(({ name }) => name)).toEqual([]);
});

/** A string is used as it is, an object as JSON. */
const textOf = (body: unknown) => (typeof body === 'string' ? body : JSON.stringify(body));

describe('manifests.json, as the reference client checks it', () => {
  test.each(vectors.cases)('$name', ({ state, body, expected }) => {
    const trusted = state.trusted_keys.map(trustedKey);
    const { check, sequences } = checkManifest(textOf(body), trusted, state.seen, {
      product: state.product,
      app_version: state.app_version,
      license_expires_at: state.license?.expires_at,
      now: Date.parse(state.now),
    });
    const { available, offer, newest_version, reason } = expected;
    const verdict = available ? { available, offer, newest_version } : { available, reason };
    expect(check).toMatchObject(verdict);
    expect(check.available ? check.newest_version : check.newest?.version).toBe(newest_version);
    expect(sequences).toEqual(expected.seen);
  });
});

describe('manifests.json, as the publisher’s commands and the service verify it', () => {
  test.each(vectors.cases)('$name', ({ state, body, expected }) => {
    expect(publisherVerifies(textOf(body), state.trusted_keys)).toBe(expected.verifies);
  });

  /** The checks of `mooring manifest verify`, without the check of the time. */
  function publisherVerifies(text: string, trusted: string[]): boolean {
    try {
      const document: unknown = JSON.parse(text);
      return (
        findDifferingUnsignedMember(
          document,
          verifyManifest(document, trustedKeys(trusted.map(publicKeyFromX))),
        ) === null
      );
    } catch {
      return false;
    }
  }
});

describe('manifests.json, as an independent program verifies it', () => {
  let validChecks: Set<string>;
  beforeAll(async () => {
    const checks = new Map(vectors.cases.flatMap(checksOf).map((check) => [nameOf(check), check]));
    const verdicts = await areValidSignatures([...checks.values()]);
    validChecks = new Set([...checks.keys()].filter((_, i) => verdicts[i]));
  });

  test.each(vectors.cases)(`${VERIFIER}: $name`, (vector) => {
    const valid = checksOf(vector).filter((check) => validChecks.has(nameOf(check)));
    const signers = vector.state.trusted_keys
      .map(trustedKey)
      .filter(({ key_id }) => valid.some((check) => check.key_id === key_id));
    expect(signers.map(({ key_id }) => key_id)).toEqual(vector.expected.signed_by);
  });

  /** Each signature with each trusted key. */
  function checksOf({ state, body }: Case): (SignatureCheck & { key_id: string })[] {
    const { signed, signatures } = signedPartsOf(body);
    return state.trusted_keys
      .map(trustedKey)
      .flatMap(({ key_id, key }) =>
        signatures.map((signature) => ({ key_id, key, bytes: Buffer.from(signed), signature })),
      );
  }

  /** A text that differs for different checks: several cases have the same signatures. */
  const nameOf = ({ key_id, bytes, signature }: ReturnType<typeof checksOf>[number]) =>
    [key_id, bytes.toString('base64'), signature.toString('base64')].join(' ');

  function signedPartsOf(body: unknown): { signed: string; signatures: Buffer[] } {
    const { signed, signatures } = body as {
      signed?: unknown;
      signatures?: ({ signature: unknown } | null)[];
    };
    if (typeof signed !== 'string') return { signed: '', signatures: [] };
    const texts = signatures!.map((entry) => entry?.signature).filter((text) => typeof text === 'string');
    // The program receives decoded bytes, so this test checks the base64url spelling itself.
    const isSpelledRight = (text: string) => Buffer.from(text, 'base64url').toString('base64url') === text;
    return { signed, signatures: texts.filter(isSpelledRight).map((text) => Buffer.from(text, 'base64url')) };
  }
});

test.each(vectors.public_keys)('$name', ({ x, is_public_key }) => {
  const read = expect(() => trustedKey(x));
  if (is_public_key) read.not.toThrow();
  else read.toThrow('each of trustedKeys and tokenKeys must be an Ed25519 public key');
});

describe('a version', () => {
  test.each(vectors.compare_versions)('$name', ({ a, b, sign }) => {
    expect(Math.sign(compareVersions(a, b))).toBe(sign);
    expect([isAbove(a, b), isAbove(b, a)]).toEqual([sign > 0, sign < 0]);
  });

  test.each(vectors.version_shapes)('$name', ({ text, is_version }) => {
    expect([isVersion(text), isVersionOfClient(text)]).toEqual([is_version, is_version]);
  });
});

test.each(vectors.covers)('$name', ({ minimum_license_expiry, license_expires_at, covered }) => {
  const expiry = license_expires_at === null ? null : new Date(license_expires_at);
  expect(covers(minimum_license_expiry, expiry)).toBe(covered);
});
