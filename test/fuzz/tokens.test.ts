import { generateKeyPairSync, sign, verify } from 'node:crypto';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { KeyRing, type TokenKey } from '../../src/keys/tokens/key-ring.js';
import { verifyLicenseToken } from '../../src/keys/tokens/license-token.js';
import { runs } from './fuzz.js';
import { retryWhileUnavailable, Service } from '../support/harness.js';

/*
 * Genuine tokens changed in the ways that are known to deceive verifiers of signatures. Each token that is not genuine byte
 * for byte is answered as invalid, and the response shows nothing of a license.
 */

const service = await Service.start();
const license = await service.issue({ machines_allowed: 2 });
const revoked = await service.issue({ email: 'bob@example.com' });
const answers = [
  await service.activate(license, 'one'),
  await service.activate(license, 'two'),
  await service.activate(revoked, 'three'),
];
/** Tokens of two machines, and of one with a revoked license. Not even a changed token of the third may be answered with `stop`. */
const tokens = answers.map(({ json }) => json.token as string);
await service.setLicense(revoked.license_id, { staff_status: 'revoked' });
const ring = service.app.get(KeyRing);
const active = ring.active;
const { privateKey: _, ...key } = active;
const verifier: TokenKey['verifier'] = {
  accepts: (text, signature) => verify(null, Buffer.from(text), key.publicKey, signature),
};
const publicHalf = { ...key, verifier };
/** A key ring without the private half of the key, so that a signature is verified with the public half. */
const publicRing = {
  byHeader: (header: string) => (header === publicHalf.header ? publicHalf : undefined),
} as KeyRing;

type Segments = [header: string, payload: string, signature: string];
/** Returns a changed token. The bits of the random number `pick` choose what is changed. */
type Change = (token: Segments, pick: number, other: Segments) => string;

const untrusted = generateKeyPairSync('ed25519').privateKey;
const encode = (value: string | Uint8Array) => Buffer.from(value).toString('base64url');
const decode = (text: string) => Buffer.from(text, 'base64url');
const at = <T>(all: readonly T[], pick: number): T => all[pick % all.length]!;
const signedBy = (key: typeof untrusted, header: string, payload: string) =>
  `${header}.${payload}.${encode(sign(null, Buffer.from(`${header}.${payload}`), key))}`;

/**
 * The order of the group of Ed25519 (RFC 8032). If the verifier accepted S + L in place of S, one message would have
 * two valid signatures.
 */
const L = 2n ** 252n + 27742317777372353535851937790883648493n;

function withLargerS(signature: string): string {
  const bytes = decode(signature);
  const s = BigInt(`0x${Buffer.from(bytes.subarray(32).toReversed()).toString('hex')}`) + L;
  const larger = Buffer.from(s.toString(16).padStart(64, '0'), 'hex').toReversed();
  return encode(Buffer.concat([bytes.subarray(0, 32), larger]));
}

/** Points of small order. With one of them as the public key or as R, a signature of zeros may verify any message. */
const SMALL_ORDER = [
  '0100000000000000000000000000000000000000000000000000000000000000',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0000000000000000000000000000000000000000000000000000000000000080',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
].map((hex) => Buffer.from(hex, 'hex'));

const HEADERS: readonly object[] = [
  { alg: 'none' },
  { alg: 'HS256' },
  { alg: 'EdDSA' },
  { alg: 'Ed448' },
  { alg: ['Ed25519'] },
  { typ: 'JWT' },
  { typ: 'LICENSE+JWT' },
  { kid: '' },
  { kid: '../../active' },
  { kid: '__proto__' },
  { crit: ['exp'], exp: 1 },
  { b64: false, crit: ['b64'] },
  { jwk: { kty: 'OKP', crv: 'Ed25519', x: encode(SMALL_ORDER[0]!) } },
  { jku: 'https://example.com/keys' },
];
const INVALID: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e21,
  1e300,
  '',
  'x',
  '0',
  [],
  {},
  [[]],
  { a: 1 },
];
const CLAIMS = ['iss', 'aud', 'sub', 'lic', 'mch', 'lxp', 'iat', 'exp'] as const;

/** Changes or repeats a member of the payload, or changes its text. */
function changePayload(payload: string, pick: number): string {
  const text = decode(payload).toString();
  const [name, value] = [at(CLAIMS, pick), JSON.stringify(at(INVALID, pick >> 3))];
  const claims = JSON.parse(text) as Record<string, unknown>;
  const others = [
    JSON.stringify({ ...claims, [name]: at(INVALID, pick >> 3) }),
    `{"${name}":${value},${text.slice(1)}`,
    `${text.slice(0, -1)},"${name}":${value}}`,
    `${text.slice(0, -1)},"__proto__":{"${name}":${value}}}`,
    JSON.stringify(Object.fromEntries(Object.entries(claims).toReversed())),
    JSON.stringify(claims, undefined, 1),
    `\uFEFF${text}`,
    `${text}\0`,
    `[${text}]`,
    text.replace('"exp":', '"exp":1e0,"exp":'),
    '['.repeat(600) + ']'.repeat(600),
  ];
  return encode(at(others, pick >> 7));
}

const CHANGES: Record<string, Change> = {
  'a bit of any segment': (token, pick) => {
    const segments = [...token];
    const bytes = decode(segments[pick % 3]!);
    bytes[(pick >> 5) % bytes.length]! ^= 1 << ((pick >> 2) % 8);
    segments[pick % 3] = encode(bytes);
    return segments.join('.');
  },
  'a character': (token, pick) => {
    const text = token.join('.');
    const i = (pick >> 6) % text.length;
    return text.slice(0, i) + at([...'AZaz09-_+/=. \n%é🔑'], pick) + text.slice(i + 1);
  },
  'a piece left out, or twice': (token, pick) => {
    const text = token.join('.');
    const [from, to] = [(pick >> 2) % text.length, (pick >> 11) % text.length];
    return pick % 2 ? text.slice(0, from) + text.slice(to) : text.slice(0, to) + text.slice(from);
  },
  'segments of two tokens': ([header, payload, signature], pick, [header2, payload2, signature2]) => {
    const one = pick & 1 ? header : header2;
    return `${one}.${pick & 2 ? payload : payload2}.${pick & 4 ? signature : signature2}`;
  },
  'segments in another order or number': (token, pick) =>
    at(
      [
        [token[1], token[0], token[2]],
        [token[0], token[1]],
        [token[0], token[1], ''],
        [...token, token[2]],
        ['', ...token],
        [...token, ''],
      ],
      pick,
    ).join('.'),
  'another header': ([header, payload, signature], pick) => {
    const changed = JSON.parse(decode(header).toString()) as object;
    const other = encode(JSON.stringify({ ...changed, ...at(HEADERS, pick) }));
    return pick % 2 ? `${other}.${payload}.${signature}` : signedBy(untrusted, other, payload);
  },
  'the same header, written differently': ([header, payload], pick) => {
    const text = decode(header).toString();
    const { alg, ...rest } = JSON.parse(text) as { alg: string };
    const other = at(
      [`${text} `, JSON.stringify({ ...rest, alg }), text.replace(':', ': '), `${text}\0`],
      pick,
    );
    return signedBy(active.privateKey!, encode(other), payload);
  },
  'another payload': ([header, payload, signature], pick) =>
    `${header}.${changePayload(payload, pick)}.${signature}`,
  "another key's signature": ([header, payload], pick) =>
    signedBy(untrusted, header, pick % 2 ? payload : changePayload(payload, pick)),
  'the same bytes, written differently': (token, pick) => {
    const [i, text] = [pick % 3, at(token, pick)];
    // A last character with other insignificant bits.
    const near = String.fromCharCode(text.charCodeAt(text.length - 1) + 1);
    const spelled = [`${text}=`, `${text}==`, `${text}\n`, ` ${text}`, text.slice(0, -1) + near, `${text}A`];
    return token.map((each, place) => (place === i ? at(spelled, pick >> 2) : each)).join('.');
  },
  'the same signature with a larger S': ([header, payload, signature]) =>
    `${header}.${payload}.${withLargerS(signature)}`,
  'a signature of small order': ([header, payload], pick) => {
    const s = Buffer.alloc(32, (pick >> 4) % 2 ? 0 : 1);
    return `${header}.${payload}.${encode(Buffer.concat([at(SMALL_ORDER, pick), s]))}`;
  },
  'a key of small order': ([header, payload], pick) => {
    const x = encode(at(SMALL_ORDER, pick));
    const changed = JSON.parse(decode(header).toString()) as object;
    const other = encode(JSON.stringify({ ...changed, kid: x, jwk: { kty: 'OKP', crv: 'Ed25519', x } }));
    return `${other}.${payload}.${encode(Buffer.concat([SMALL_ORDER[0]!, Buffer.alloc(32)]))}`;
  },
};

const mutant = fc
  .record({
    kinds: fc.array(fc.constantFrom(...Object.keys(CHANGES)), { minLength: 1, maxLength: 2 }),
    pick: fc.nat(0xfffff),
    // The token that is changed, and the one from which a change takes segments.
    index: fc.nat(2),
    otherIndex: fc.nat(2),
  })
  .map(({ kinds, pick, index, otherIndex }) => ({
    kinds,
    make: () => {
      const segments = tokens.map((token) => token.split('.') as Segments);
      const changed = kinds.reduce((token, kind) => {
        const [header = '', payload = '', ...rest] = token.split('.');
        // A second change is made only if the first one left three segments.
        return rest.length === 1 && header && payload && rest[0]
          ? CHANGES[kind]!([header, payload, rest[0]], pick, segments[otherIndex]!)
          : token;
      }, tokens[index]!);
      // A lone surrogate would be answered 422, as in any body.
      return changed.toWellFormed();
    },
  }));

async function answerTo(token: string): Promise<unknown[]> {
  const { status, json } = await retryWhileUnavailable(() => service.heartbeat(token));
  return [status, json.code, json.client_action];
}

function safely<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    // The second change failed because the first one left no valid JSON.
    return undefined;
  }
}

test('a token that is not genuine byte for byte is token_invalid', async () => {
  const count = { mutants: 0, built: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(mutant, { minLength: 20, maxLength: 20 }), async (mutants) => {
      const built = mutants.flatMap(({ kinds, make }) => safely(() => ({ kinds, token: make() })) ?? []);
      count.mutants += mutants.length;
      count.built += built.length;
      const forged = built.filter(({ token }) => token && !tokens.includes(token));
      await Promise.all(
        forged.map(async ({ kinds, token }) => {
          const isTooLong = token.length > 2048;
          const expected = isTooLong ? [422, 'invalid_request', 'fix'] : [403, 'token_invalid', 'reactivate'];
          expect([kinds, token, ...(await answerTo(token))]).toEqual([kinds, token, ...expected]);
          expect([kinds, token, verifyLicenseToken(publicRing, 'com.example.app', token)]).toEqual([
            kinds,
            token,
            null,
          ]);
        }),
      );
    }),
    runs(25),
  );
  // Otherwise too few of the changes would be tested.
  expect(count.built / count.mutants).toBeGreaterThan(0.8);
});

test('a claim of a wrong type is token_invalid, also if signed with the key of the service', async () => {
  const wrong = fc.record({
    name: fc.constantFrom(...CLAIMS),
    value: fc.oneof(fc.constantFrom(...INVALID, 2 ** 53, -(2 ** 60), undefined), fc.jsonValue()),
  });
  await fc.assert(
    fc.asyncProperty(wrong, async ({ name, value }) => {
      // Values that may be valid are left out: whole numbers for times, null for `lxp`, texts for `mch` and `lic`.
      fc.pre(
        !(Number.isSafeInteger(value) || (name === 'lxp' && value === null)) || !/^(lxp|iat|exp)$/.test(name),
      );
      fc.pre(name !== 'mch' || typeof value !== 'string');
      fc.pre(name !== 'lic' || typeof value !== 'string');
      const claims = JSON.parse(decode(tokens[0]!.split('.')[1]!).toString()) as object;
      const token = signedBy(
        active.privateKey!,
        active.header,
        encode(JSON.stringify({ ...claims, [name]: value })),
      );
      fc.pre(token.length <= 2048);
      expect(await answerTo(token)).toEqual([403, 'token_invalid', 'reactivate']);
    }),
    runs(40),
  );
});

test('the genuine tokens have the same responses as before', async () => {
  expect(await Promise.all(tokens.map(answerTo))).toEqual([
    [200, undefined, undefined],
    [200, undefined, undefined],
    [403, 'license_revoked', 'stop'],
  ]);
});
