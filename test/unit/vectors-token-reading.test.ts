import { describe, expect, test } from '@jest/globals';
import { compactVerify } from 'jose';
import { createPublicKey } from 'node:crypto';
import { readToken, TokenReader } from '../../client/src/license-token.js';
import { trustedKey } from '../../client/src/manifest-signature.js';
import { readVectors } from '../support/vectors.js';

interface Vectors {
  key: { x: string };
  second_key: { x: string };
  unknown_key: { x: string };
  cases: {
    name: string;
    token: string;
    offline_until: string;
    machine_id: string | null;
    token_keys: string[];
    expected: {
      claims: { mch: string; iat: number; exp: number } | null;
      is_believable: boolean;
      offline_until: string;
      is_of_another_machine: boolean;
    };
  }[];
}

const { key, second_key, unknown_key, cases } = readVectors<Vectors>('token-reading.json');

describe('token-reading.json, as the reference client reads it', () => {
  test.each(cases)('$name', async ({ token, offline_until, machine_id, token_keys, expected }) => {
    const license = {
      license_key: '',
      email: '',
      hostname_hint: null,
      expires_at: null,
      token,
      offline_until,
    };
    const keys = token_keys.map(trustedKey);
    const machineId = async () => {
      if (machine_id === null) throw new Error('no hardware UUID can be read');
      return machine_id;
    };
    const reading = readToken(license, keys);
    expect({
      claims: reading.claims ?? null,
      is_believable: reading.isBelievable,
      offline_until: new Date(reading.offline_until).toISOString(),
      is_of_another_machine: await new TokenReader(keys, machineId).isOfAnotherMachine(license),
    }).toEqual(expected);
  });
});

test('if the application ships token keys, jose and the reference client accept the same tokens', async () => {
  const publicKeys = [key, second_key, unknown_key].map(({ x }) => ({
    kid: trustedKey(x).key_id,
    key: createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' }),
  }));
  // Cases without shipped keys or without claims are left out. So are signatures in another encoding, which jose accepts, and
  // tokens of keys that are not shipped, which the client does not believe because of their times. Jose ignores the times, and
  // gets the public keys of all signers here.
  const compared = cases.filter(
    ({ name, token_keys, expected }) =>
      token_keys.length > 0 &&
      expected.claims &&
      !name.includes('another encoding') &&
      !name.includes('not believed under a kid that is not shipped'),
  );
  for (const { name, token, expected } of compared) {
    const isAccepted = await compactVerify(
      token,
      ({ kid }) => publicKeys.find((each) => each.kid === kid)!.key,
      {
        algorithms: ['Ed25519'],
      },
    ).then(
      () => true,
      () => false,
    );
    expect([name, isAccepted]).toEqual([name, expected.is_believable]);
  }
  expect(compared.length).toBeGreaterThan(8);
});
