import { expect, test } from '@jest/globals';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { KeyRing } from '../../src/keys/tokens/key-ring.js';
import { ManifestKeys } from '../../src/keys/manifests/manifest-keys.js';
import { Service } from '../support/harness.js';

const service = await Service.start();

test('GET /v1/keys lists the public half of each key and its purpose', async () => {
  const { status, json, headers } = await service.call('GET', '/v1/keys');
  const jwk = (kid: string, purpose: string) => ({
    kid,
    for: purpose,
    kty: 'OKP',
    crv: 'Ed25519',
    x: expect.stringMatching(/^[\w-]{43}$/),
    alg: 'Ed25519',
    use: 'sig',
    key_ops: ['verify'],
  });
  expect(status).toBe(200);
  expect(headers['cache-control']).toMatch(/^public, max-age=\d+$/);
  const tokens = service.app.get(KeyRing).keys.map(({ kid }) => jwk(kid, 'license-token'));
  const manifests = [...service.app.get(ManifestKeys).trusted.keys()].map((kid) =>
    jwk(kid, 'update-manifest'),
  );
  expect([tokens.length, manifests.length]).toEqual([2, 1]);
  expect(json).toEqual({ keys: [...tokens, ...manifests] });
});

test('with the keys of GET /v1/keys another JWT library accepts a token, and refuses a changed one', async () => {
  const { json } = await service.call('GET', '/v1/keys');
  const { token, activation } = (await service.activate(await service.issue())).json;
  const expected = {
    issuer: 'mooring',
    audience: 'com.example.app',
    typ: 'license+jwt',
    algorithms: ['Ed25519'],
    currentDate: service.clock.now(),
  };
  const { payload } = await jwtVerify(token, createLocalJWKSet(json), expected);
  expect(payload.sub).toBe(activation.id);
  const [header, claims, signature] = token.split('.');
  const signedClaims = JSON.parse(Buffer.from(claims, 'base64url').toString());
  const forged = Buffer.from(JSON.stringify({ ...signedClaims, exp: signedClaims.exp + 1 })).toString(
    'base64url',
  );
  await expect(
    jwtVerify([header, forged, signature].join('.'), createLocalJWKSet(json), expected),
  ).rejects.toThrow('signature verification failed');
});
