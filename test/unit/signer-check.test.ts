import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isSum, scalarLimbs } from '../../src/keys/ed25519/scalar.js';
import { SignerCheck } from '../../src/keys/ed25519/signer-check.js';
import { anyText } from '../support/any-text.js';

/** The order of the group, and by how much it is above 2 ** 252 (RFC 8032). */
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
const D = ORDER - 2n ** 252n;

/** The prefix of a PKCS#8 file of an Ed25519 key; the 32 bytes of the seed follow (RFC 8410). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const keyOf = (seed: Uint8Array) =>
  createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' });

const toBytes = (value: bigint, length: number) =>
  Buffer.from(Buffer.from(value.toString(16).padStart(2 * length, '0'), 'hex').toReversed());
const toNumber = (bytes: Buffer) => BigInt(`0x${Buffer.from(bytes.toReversed()).toString('hex')}`);

describe('The arithmetic modulo the order', () => {
  const expected = (r: bigint, k: bigint, a: bigint) => (r + k * a) % ORDER;
  const accepts = (s: bigint, r: bigint, k: bigint, a: bigint) =>
    isSum(toBytes(s, 32), toBytes(r, 64), toBytes(k, 64), scalarLimbs(toBytes(a, 32)));
  /** Whether the right result is accepted, and its neighbour, a changed bit and the same number plus the order are not. */
  const isRight = (r: bigint, k: bigint, a: bigint) => {
    const s = expected(r, k, a);
    const wrong = [s + 1n, s ^ (1n << (k % 256n)), s + ORDER];
    return accepts(s, r, k, a) && !wrong.some((value) => accepts(value, r, k, a));
  };

  const nearMultiples = [0n, 1n, 2n, 7n, 2n ** 130n, 2n ** 259n].flatMap((factor) =>
    [-D - 1n, -D, 1n - D, -1n, 0n, 1n, D - 1n, D, D + 1n].map((offset) => factor * ORDER + offset),
  );
  const powers = [252n, 253n, 255n, 256n, 504n, 512n].map((exponent) => 2n ** exponent - 1n);
  const edges = [...nearMultiples, ...powers, 2n ** 252n].filter(
    (value) => value >= 0n && value < 2n ** 512n,
  );

  test('is right for all edges', () => {
    const factors = edges.filter((value) => value < 2n ** 256n);
    // Each number is multiplied with one from the other end of the list.
    const cases = edges.flatMap((r) =>
      edges.map((k, index) => [r, k, factors.at(-index % factors.length)!] as const),
    );
    expect(cases.filter(([r, k, a]) => !isRight(r, k, a))).toEqual([]);
    const largest = 2n ** 512n - 1n;
    expect(isRight(largest, largest, 2n ** 256n - 1n)).toBe(true);
    expect(edges.filter((value) => !isRight(0n, value, 1n))).toEqual([]);
  });

  test('is right for any numbers', () => {
    const number = fc.bigInt(0n, 2n ** 512n - 1n);
    const factor = fc.bigInt(0n, 2n ** 256n - 1n);
    fc.assert(
      fc.property(number, number, factor, (r, k, a) => expect(isRight(r, k, a)).toBe(true)),
      { numRuns: 500 },
    );
  });

  test('is right where the result is near a multiple of the order', () => {
    const number = fc.bigInt(0n, ORDER - 1n);
    fc.assert(
      // The first 27 results are the offsets around 0, 1 and 2 times the order.
      fc.property(number, number, fc.constantFrom(...nearMultiples.slice(0, 27)), (k, a, result) => {
        const r = (((result - k * a) % ORDER) + ORDER) % ORDER;
        expect(isRight(r, k, a)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

describe('The check of the signer', () => {
  // RFC 8032, section 7.1, tests 1 and 2. The check reads text, and the message of test 3 is not valid UTF-8.
  test.each([
    [
      '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
      '',
      'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
    ],
    [
      '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb',
      'r',
      '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
    ],
  ])('accepts the signature of the key %s in RFC 8032', (seed, text, signature) => {
    const check = new SignerCheck(keyOf(Buffer.from(seed, 'hex')));
    expect(check.accepts(text, Buffer.from(signature, 'hex'))).toBe(true);
    expect(check.accepts(`${text}x`, Buffer.from(signature, 'hex'))).toBe(false);
  });

  const seed = fc.uint8Array({ minLength: 32, maxLength: 32 });

  test('accepts each signature of its key, and none in which a bit is changed', () => {
    fc.assert(
      fc.property(seed, anyText(), fc.nat(511), (seed, text, bit) => {
        const key = keyOf(seed);
        const check = new SignerCheck(key);
        const signature = sign(null, Buffer.from(text), key);
        expect(check.accepts(text, signature)).toBe(true);
        signature[bit >> 3]! ^= 1 << (bit & 7);
        expect(check.accepts(text, signature)).toBe(false);
      }),
    );
  });

  test('decides as a verification with the public half does', () => {
    fc.assert(
      fc.property(seed, seed, anyText(), anyText(), (seed, otherSeed, text, otherText) => {
        const [key, other] = [keyOf(seed), keyOf(otherSeed)];
        // The signature to be checked, one of another text, and one by another key.
        const [own, ofOther, byOther] = [
          sign(null, Buffer.from(text), key),
          sign(null, Buffer.from(otherText), key),
          sign(null, Buffer.from(text), other),
        ];
        const publicKey = createPublicKey(key);
        const s = toNumber(own.subarray(32));
        const pairs = [own, ofOther, byOther].flatMap((left) =>
          [own, ofOther, byOther].map((right) => Buffer.concat([left.subarray(0, 32), right.subarray(32)])),
        );
        const candidates = [
          ...pairs,
          // The same number modulo the order, its negative, and zero.
          ...[s + ORDER, ORDER - s, 0n].map((value) =>
            Buffer.concat([own.subarray(0, 32), toBytes(value, 32)]),
          ),
          Buffer.alloc(64),
        ];
        for (const signature of candidates)
          expect(new SignerCheck(key).accepts(text, signature)).toBe(
            verify(null, Buffer.from(text), publicKey, signature),
          );
      }),
      { numRuns: 50 },
    );
  });
});
