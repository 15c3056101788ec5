import { describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { createPublicKey, verify } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
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
import { temporaryFolder } from '../support/folders.js';
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
  const dir = temporaryFolder();

  // LibreSSL, which macOS calls openssl, does not know -rawin (the input is the message itself, not its digest). Then Node
  // verifies, which the service uses too.
  const help = spawnSync('openssl', ['pkeyutl', '-help']);
  const hasOpenssl = `${help.stdout?.toString()}${help.stderr?.toString()}`.includes('-rawin');

  test.each(vectors.cases)(`${hasOpenssl ? 'openssl' : 'node'}: $name`, ({ state, body, expected }) => {
    const { signed, signatures } = signedPartsOf(body);
    const keys = state.trusted_keys.map(trustedKey);
    const signers = keys.filter(({ key }) =>
      signatures.some((signature) => isGenuine(key, signed, signature)),
    );
    expect(signers.map(({ key_id }) => key_id)).toEqual(expected.signed_by);
  });

  function signedPartsOf(body: unknown): { signed: string; signatures: string[] } {
    const { signed, signatures } = body as {
      signed?: unknown;
      signatures?: ({ signature: unknown } | null)[];
    };
    if (typeof signed !== 'string') return { signed: '', signatures: [] };
    const texts = signatures!.map((entry) => entry?.signature).filter((text) => typeof text === 'string');
    return { signed, signatures: texts };
  }

  function isGenuine(key: ReturnType<typeof createPublicKey>, signed: string, signature: string): boolean {
    const bytes = Buffer.from(signature, 'base64url');
    // openssl receives decoded bytes, so this test checks the base64url spelling itself.
    if (bytes.toString('base64url') !== signature) return false;
    if (!hasOpenssl) return verify(null, Buffer.from(signed), key, bytes);
    const [pem, input, sigfile] = ['key.pem', 'signed', 'signature'].map((name) => join(dir, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(pem, key.export({ format: 'pem', type: 'spki' }));
    writeFileSync(input, signed);
    writeFileSync(sigfile, bytes);
    const files = ['-inkey', pem, '-in', input, '-sigfile', sigfile];
    return spawnSync('openssl', ['pkeyutl', '-verify', '-pubin', '-rawin', ...files]).status === 0;
  }
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
