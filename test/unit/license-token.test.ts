import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { compactVerify, jwtVerify } from 'jose';
import { createPrivateKey, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { anyText } from '../support/any-text.js';
import { createKeyRing, KeyRing } from '../../src/keys/tokens/key-ring.js';
import {
  machineDigest,
  OFFLINE_SECONDS,
  signLicenseToken,
  verifyLicenseToken,
  type LicenseClaims,
} from '../../src/keys/tokens/license-token.js';
import { parseRing, writeRing } from '../../src/keys/tokens/ring-file.js';
import { temporaryFolder } from '../support/folders.js';
import { readVectors } from '../support/vectors.js';

interface Vector {
  key: { d: string; x: string; kid: string };
  machine_id: string;
  header: string;
  claims: string;
  token: string;
}

const vector = readVectors<Vector>('license-tokens.json');
const claims = JSON.parse(vector.claims) as LicenseClaims;
const PRODUCT = claims.aud;
const privateKey = createPrivateKey({
  key: { kty: 'OKP', crv: 'Ed25519', d: vector.key.d, x: vector.key.x },
  format: 'jwk',
});

const dir = temporaryFolder();

const { kid } = vector.key;
const entry = { kid, file: `${kid}.pem`, since: '2026-11-20T13:00:00Z' };
const ringDir = join(dir, 'ring');
await createKeyRing(ringDir, new Date());
await writeFile(join(ringDir, entry.file), privateKey.export({ format: 'pem', type: 'pkcs8' }));
const entries = parseRing(readFileSync(join(ringDir, 'ring.json'), 'utf8'));
await writeRing(ringDir, [{ ...entry, state: 'active' }, ...entries.filter(({ state }) => state === 'next')]);
/** Holds the key of the vectors as `active`, with its private half. */
const ring = await KeyRing.open(ringDir);
const publicRingDir = join(dir, 'public');
await createKeyRing(publicRingDir, new Date());
await writeFile(
  join(publicRingDir, entry.file),
  ring.active.publicKey.export({ format: 'pem', type: 'spki' }),
);
const others = parseRing(readFileSync(join(publicRingDir, 'ring.json'), 'utf8'));
await writeRing(publicRingDir, [...others, { ...entry, state: 'verifying' }]);
/** Holds only the public half of the same key, as `verifying`, so it checks signatures by verifying them. */
const publicRing = await KeyRing.open(publicRingDir);

/** A token with any payload and a genuine signature. */
function signPayload(payload: string, header = ring.active.header): string {
  const input = `${header}.${Buffer.from(payload).toString('base64url')}`;
  return `${input}.${sign(null, Buffer.from(input), privateKey).toString('base64url')}`;
}

const uuid = fc.uuid().map((id) => id.toLowerCase());
const seconds = fc.integer({ min: 0, max: 4_102_444_800 });
const anyClaims: fc.Arbitrary<LicenseClaims> = fc.record({
  iss: fc.constant('mooring'),
  aud: fc.oneof(fc.constant(PRODUCT), anyText({ maxLength: 40 })),
  sub: uuid,
  lic: uuid,
  mch: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((id) => machineDigest(Buffer.from(id))),
  lxp: fc.option(seconds),
  iat: seconds,
  exp: seconds,
});

describe('a license token', () => {
  test('is byte for byte the token of the vectors', () => {
    expect(machineDigest(Buffer.from(vector.machine_id, 'hex'))).toBe(claims.mch);
    expect(Buffer.from(ring.active.header, 'base64url').toString()).toBe(vector.header);
    const token = signLicenseToken(ring.active, claims);
    expect(token).toBe(vector.token);
    expect(token).toHaveLength(491);
    expect(claims.exp - claims.iat).toBe(OFFLINE_SECONDS);
  });

  test('has its members in a fixed order, whatever order the caller gives', () => {
    const reversed = Object.fromEntries(Object.entries(claims).toReversed()) as unknown as LicenseClaims;
    expect(signLicenseToken(ring.active, reversed)).toBe(vector.token);
  });

  test('is verified by jose, and read back with either half of the key', async () => {
    await fc.assert(
      fc.asyncProperty(anyClaims, async (someClaims) => {
        const token = signLicenseToken(ring.active, someClaims);
        const { payload, protectedHeader } = await compactVerify(token, ring.active.publicKey, {
          algorithms: ['Ed25519'],
        });
        expect(Buffer.from(payload).toString()).toBe(JSON.stringify(someClaims));
        expect(protectedHeader.kid).toBe(vector.key.kid);
        expect(verifyLicenseToken(ring, someClaims.aud, token)).toEqual(someClaims);
        expect(verifyLicenseToken(publicRing, someClaims.aud, token)).toEqual(someClaims);
      }),
    );
  });

  test('is accepted by jose as a JWT with its type, issuer and audience', async () => {
    const { payload } = await jwtVerify(vector.token, ring.active.publicKey, {
      algorithms: ['Ed25519'],
      typ: 'license+jwt',
      issuer: 'mooring',
      audience: PRODUCT,
      currentDate: new Date(claims.iat * 1000),
    });
    expect(payload).toEqual(claims);
  });

  test('is refused by the service and by jose after a change of any one character', async () => {
    const { token } = vector;
    const symbols = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    for (let i = 0; i < token.length; i += 1) {
      // Adding 32 changes the highest of the six bits of a symbol. The last symbol of a part may have unused low bits, and jose
      // ignores a change of those. A dot, which is no symbol, is replaced too.
      const symbol = symbols.charAt((symbols.indexOf(token.charAt(i)) + 32) % 64);
      const changed = token.slice(0, i) + symbol + token.slice(i + 1);
      expect([i, verifyLicenseToken(ring, PRODUCT, changed)]).toEqual([i, null]);
      expect([i, verifyLicenseToken(publicRing, PRODUCT, changed)]).toEqual([i, null]);
      await expect(compactVerify(changed, ring.active.publicKey)).rejects.toThrow();
    }
  });

  test('has one spelling: no other last character, no padding, no other alphabet', () => {
    // The token ends with A. B to P differ from it only in the four unused bits; the other characters change the signature.
    const body = vector.token.slice(0, -1);
    const others = [...'BCDEFGHIJKLMNOPabcdefwxyz0123456789-_Qg'].map((last) => body + last);
    const spelled = [`${vector.token}=`, `${vector.token}==`, vector.token.replaceAll('-', '+')];
    for (const token of [...others, ...spelled, ` ${vector.token}`, `${vector.token}\n`]) {
      expect([token, verifyLicenseToken(ring, PRODUCT, token)]).toEqual([token, null]);
      expect([token, verifyLicenseToken(publicRing, PRODUCT, token)]).toEqual([token, null]);
    }
  });

  test('is accepted at any age', () => {
    const old = { ...claims, iat: 1, exp: 1 + OFFLINE_SECONDS };
    expect(verifyLicenseToken(ring, PRODUCT, signLicenseToken(ring.active, old))).toEqual(old);
  });

  test('is refused for another product, issuer, alg, typ or kid, although its signature is genuine', () => {
    const header = (change: object): string =>
      Buffer.from(JSON.stringify({ ...(JSON.parse(vector.header) as object), ...change })).toString(
        'base64url',
      );
    expect(verifyLicenseToken(ring, 'com.example.other', vector.token)).toBeNull();
    expect(
      verifyLicenseToken(ring, PRODUCT, signPayload(JSON.stringify({ ...claims, iss: 'other' }))),
    ).toBeNull();
    for (const change of [{ alg: 'none' }, { alg: 'EdDSA' }, { typ: 'JWT' }, { kid: 'x' }, { crit: [] }]) {
      expect(verifyLicenseToken(ring, PRODUCT, signPayload(vector.claims, header(change)))).toBeNull();
    }
    const next = ring.publishedKeys().find(({ state }) => state === 'next')?.kid;
    expect(verifyLicenseToken(ring, PRODUCT, signPayload(vector.claims, header({ kid: next })))).toBeNull();
  });

  test('cannot be signed without the private half of the key', () => {
    const key = publicRing.byHeader(ring.active.header);
    expect(key).toBeDefined();
    if (key) expect(() => signLicenseToken(key, claims)).toThrow('held without its private half');
  });
});

describe('a genuine signature over wrong claims is no license token:', () => {
  test('a token made in the same way is accepted where the claims are right', () => {
    expect(verifyLicenseToken(ring, PRODUCT, signPayload(vector.claims))).toEqual(claims);
  });

  const upper = claims.sub.toUpperCase();
  // prettier-ignore
  const wrong: object[] = [
    { sub: upper }, { sub: 'x' }, { sub: null }, { lic: upper }, { lic: 7 }, { lic: `${claims.lic}\n` },
    ...['sub', 'lic'].flatMap((id) => [[claims.lic], `x${claims.lic}`, `${claims.lic}x`].map((value) => ({ [id]: value }))),
    { mch: null }, { mch: 1 }, { lxp: 'never' }, { lxp: 1.5 }, { lxp: undefined }, { iat: '1' },
    { iat: null }, { exp: 0.1 }, { exp: undefined }, { exp: 1e300 }, { iss: undefined }, { aud: [PRODUCT] },
  ];
  test.each(wrong)('%j', (change) => {
    expect(
      verifyLicenseToken(ring, PRODUCT, signPayload(JSON.stringify({ ...claims, ...change }))),
    ).toBeNull();
  });

  test.each(['null', '[]', '"text"', '42', '', '{', `[${vector.claims}]`])('payload %s', (payload) => {
    expect(verifyLicenseToken(ring, PRODUCT, signPayload(payload))).toBeNull();
  });
});

describe('a text that is no license token', () => {
  test.each([
    '',
    '.',
    '..',
    '...',
    vector.token.replace('.', ''),
    `${vector.token}.`,
    `.${vector.token}`,
    vector.token.split('.').slice(0, 2).join('.'),
    `${vector.token.split('.').slice(0, 2).join('.')}.`,
    '.'.repeat(2048),
  ])('is refused with the wrong number of parts or an empty part: %s', (token) => {
    expect(verifyLicenseToken(ring, PRODUCT, token)).toBeNull();
  });

  test('is refused and never makes the check throw, also after a known header', () => {
    const part = fc.oneof(anyText(), fc.string(), fc.base64String());
    const afterHeader = fc
      .tuple(part, part)
      .map(([payload, signature]) => `${ring.active.header}.${payload}.${signature}`);
    const [header, payload] = vector.token.split('.');
    const signature = fc
      .stringMatching(/^[A-Za-z0-9_-]{85}[AQgw]$/)
      .map((text) => `${header}.${payload}.${text}`);
    const surrogates = fc.constantFrom('\ud800', `${ring.active.header}.\udfff.\ud800`);
    fc.assert(
      fc.property(fc.oneof(part, afterHeader, signature, surrogates), (token) => {
        expect(verifyLicenseToken(ring, PRODUCT, token)).toBeNull();
        expect(verifyLicenseToken(publicRing, PRODUCT, token)).toBeNull();
      }),
      { numRuns: 500 },
    );
  });
});

test('a token of at most 2,048 characters is accepted, and a longer one is refused', () => {
  const tokenOf = (aud: string) => signLicenseToken(ring.active, { ...claims, aud });
  const length = Math.floor(((2_048 - tokenOf('x').length) * 3) / 4);
  const tokens = [0, 1, 2, 3]
    .map((added) => 'x'.repeat(length - 1 + added))
    .map((aud) => ({ aud, token: tokenOf(aud) }));
  // With this header no payload in base64url gives a token of exactly 2,048 characters.
  expect(tokens.map(({ token }) => token.length)).toEqual([2_045, 2_046, 2_047, 2_049]);
  for (const { aud, token } of tokens)
    expect(verifyLicenseToken(ring, aud, token) !== null).toBe(token.length <= 2_048);
});
