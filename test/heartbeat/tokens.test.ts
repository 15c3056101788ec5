import { expect, test } from '@jest/globals';
import { randomBytes, randomUUID, sign } from 'node:crypto';
import { join } from 'node:path';
import { decodeJwt, SignJWT } from 'jose';
import { publicJwk } from '../../src/keys/ed25519/ed25519.js';
import { createKeyRing, KeyRing } from '../../src/keys/tokens/key-ring.js';
import { signLicenseToken, type LicenseClaims } from '../../src/keys/tokens/license-token.js';
import { Service } from '../support/harness.js';
import { PRODUCTION_SETTINGS } from '../support/production.js';
import { temporaryFolder } from '../support/folders.js';

const folder = temporaryFolder();
const service = await Service.start();
const ring = service.app.get(KeyRing);
const { token } = await service.issueActivated();
const claims = decodeJwt(token) as unknown as LicenseClaims;

const parts = () => token.split('.') as [string, string, string];
const segment = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const signWithClaims = (change: object) => signLicenseToken(ring.active, { ...claims, ...change });

/** Signs a token with another header, with the key of the service. */
function signWithHeader(change: object): string {
  const { header, privateKey } = ring.active;
  const own = JSON.parse(Buffer.from(header, 'base64url').toString()) as object;
  const input = `${segment({ ...own, ...change })}.${parts()[1]}`;
  return `${input}.${sign(null, Buffer.from(input), privateKey!).toString('base64url')}`;
}

/** Spells the signature of the token another way: only 2 bits of its last base64url character are significant. */
function respellSignature(): string {
  const last = token.at(-1)!;
  return token.slice(0, -1) + { A: 'B', Q: 'R', g: 'h', w: 'x' }[last]!;
}

/** Changes one character of a segment of the token. */
function changeSegment(at: 0 | 1 | 2): string {
  return parts()
    .map((part, i) => (i === at ? part.slice(0, 20) + (part[20] === 'A' ? 'B' : 'A') + part.slice(21) : part))
    .join('.');
}

async function signWithOtherKeyRing(): Promise<string> {
  await createKeyRing(folder, new Date());
  return signLicenseToken((await KeyRing.open(folder)).active, claims);
}

const FORGED: [what: string, make: () => string | Promise<string>][] = [
  ['a text that is no token', () => 'not a token'],
  ['a token of two segments', () => parts().slice(0, 2).join('.')],
  ['a token of four segments', () => `${token}.${parts()[2]}`],
  ['a token with a space after it', () => `${token} `],
  ['a changed header', () => changeSegment(0)],
  ['changed claims', () => changeSegment(1)],
  ['a changed signature', () => changeSegment(2)],
  ['no signature', () => `${parts()[0]}.${parts()[1]}.`],
  ['a signature that is spelled another way', respellSignature],
  [
    'the claims of another activation',
    () => [parts()[0], segment({ ...claims, sub: randomUUID() }), parts()[2]].join('.'),
  ],
  ['the key of another service', signWithOtherKeyRing],
  ['alg none', () => `${segment({ alg: 'none', typ: 'license+jwt' })}.${parts()[1]}.`],
  ['alg none with a signature', () => signWithHeader({ alg: 'none' })],
  ['alg EdDSA, signed with our key', () => signWithHeader({ alg: 'EdDSA' })],
  ['another typ, signed with our key', () => signWithHeader({ typ: 'JWT' })],
  ['no kid, signed with our key', () => signWithHeader({ kid: undefined })],
  ['one more header member, signed with our key', () => signWithHeader({ crit: [] })],
  ['HS256 with our public key as the secret', signWithHs256],
  ['another product, signed with our key', () => signWithClaims({ aud: 'com.example.other' })],
  ['several products, signed with our key', () => signWithClaims({ aud: [claims.aud, 'com.example.other'] })],
  ['another issuer, signed with our key', () => signWithClaims({ iss: 'elsewhere' })],
  ['a sub that is no uuid, signed with our key', () => signWithClaims({ sub: "x' or 1=1 --" })],
  ['no sub, signed with our key', () => signWithClaims({ sub: undefined })],
  ['an activation that does not exist, signed with our key', () => signWithClaims({ sub: randomUUID() })],
];

async function signWithHs256(): Promise<string> {
  const secret = Buffer.from(publicJwk(ring.active.publicKey).x, 'base64url');
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg: 'HS256', kid: ring.active.kid, typ: 'license+jwt' })
    .sign(secret);
}

test('a token that is signed again with its own claims is accepted, so a forgery signed with our key has one fault only', async () => {
  expect((await service.heartbeat(signWithClaims({}))).status).toBe(200);
  expect((await service.heartbeat(signWithHeader({}))).status).toBe(200);
});

test.each(FORGED)('%s is token_invalid, with client_action reactivate', async (_what, make) => {
  const { status, json } = await service.heartbeat(await make());
  expect([status, json.code, json.client_action]).toEqual([403, 'token_invalid', 'reactivate']);
});

test('the token of a deleted activation is token_invalid, so that a restored backup stops no client', async () => {
  const license = await service.issue();
  const { json } = await service.activate(license);
  await service.sql('delete from activation where id = $1', [json.activation.id]);
  const answer = await service.heartbeat(json.token);
  expect([answer.status, answer.json.code]).toEqual([403, 'token_invalid']);
  const again = await service.activate(license);
  expect(again.status).toBe(201);
  expect((await service.heartbeat(again.json.token)).status).toBe(200);
});

test('a token of another product is token_invalid, also with the same keys and database', async () => {
  const other = await Service.beside(service, { environment: { PRODUCT: 'com.example.other' } });
  const answer = await other.heartbeat(token);
  expect([answer.status, answer.json.code]).toEqual([403, 'token_invalid']);
});

test('in production requests get 503 if the database is empty, because it may be the wrong database', async () => {
  const dir = join(folder, 'production');
  await createKeyRing(dir, new Date());
  const production = await Service.start({
    environment: {
      ...PRODUCTION_SETTINGS,
      LICENSE_KEY_SECRET: randomBytes(32).toString('base64'),
      TOKEN_KEYS_DIR: dir,
    },
  });
  const genuine = signLicenseToken((await KeyRing.open(dir)).active, { ...claims, sub: randomUUID() });
  const unknown = { license_key: 'MOOR_E6S7-Z8KJ-TB3R-QKX6', email: 'ada@example.com' };
  const mistyped = { ...unknown, license_key: 'MOOR_E6S7-Z8KJ-TB3R-QKX7' };
  const ask = async () =>
    Promise.all([production.heartbeat(genuine), production.activate(unknown), production.activate(mistyped)]);
  for (const { status, json, headers } of await ask()) {
    expect([status, json.code, json.client_action]).toEqual([503, 'unavailable', 'retry']);
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
  }
  await production.issue();
  const codes = (await ask()).map(({ json }) => json.code as string);
  expect(codes).toEqual(['token_invalid', 'license_not_found', 'invalid_request']);
});
