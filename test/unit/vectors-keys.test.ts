import { beforeAll, describe, expect, test } from '@jest/globals';
import { compactVerify } from 'jose';
import { createPublicKey, hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readLicenseKey as readKeyInClient } from '../../client/src/license-key.js';
import { readMachineId, type Host } from '../../client/src/machine-id.js';
import { KeyRing } from '../../src/keys/tokens/key-ring.js';
import { deriveLicenseKey, licenseKeyHash, licenseKeyHint } from '../../src/keys/license-key.js';
import { hasValidCheckSymbol, readLicenseKey, withServicePrefix } from '../../src/keys/license-key-text.js';
import {
  machineDigest,
  verifyLicenseToken,
  type LicenseClaims,
} from '../../src/keys/tokens/license-token.js';
import { createTokenKey, writeRing } from '../../src/keys/tokens/ring-file.js';
import { temporaryFolder } from '../support/folders.js';
import { readVectors } from '../support/vectors.js';

interface LicenseKeys {
  derived: {
    name: string;
    secret_hex: string;
    prefix: string;
    license_id: string;
    generation: number;
    license_key: string;
    key_hash: string;
    key_hint: string;
  }[];
  canonical: { name: string; text: string; canonical: string | null; key_hash?: string; key_hint?: string }[];
  check_symbol: { name: string; canonical: string; holds: boolean }[];
}

interface MachineIds {
  read: {
    name: string;
    platform: string;
    source: string;
    text: string;
    uuid: string | null;
    machine_id: string | null;
    mch: string | null;
  }[];
}

interface TestKey {
  x: string;
  kid: string;
}

interface Tokens {
  key: TestKey;
  second_key: TestKey;
  cases: {
    name: string;
    token: string;
    product: string;
    genuine: boolean;
    claims?: LicenseClaims;
    reason?: string;
  }[];
}

describe('license-keys.json', () => {
  const { derived, canonical, check_symbol } = readVectors<LicenseKeys>('license-keys.json');

  test.each(derived)('$name', (vector) => {
    const secret = Buffer.from(vector.secret_hex, 'hex');
    const key = deriveLicenseKey(secret, vector.prefix, vector.license_id, vector.generation);
    expect(key).toBe(vector.license_key);
    expect(licenseKeyHash(key).toString('hex')).toBe(vector.key_hash);
    expect(licenseKeyHint(key)).toBe(vector.key_hint);
  });

  test.each(canonical)('$name', (vector) => {
    const typed = readLicenseKey(vector.text);
    const key = typed && withServicePrefix(typed, 'MOOR');
    expect(key).toBe(vector.canonical);
    expect(key === null ? undefined : licenseKeyHash(key).toString('hex')).toBe(vector.key_hash);
    expect(key === null ? undefined : licenseKeyHint(key)).toBe(vector.key_hint);
    // The client does not know the prefix of the service. It refuses only what the service refuses.
    const inClient = () => readKeyInClient(vector.text);
    if (key === null) expect(inClient).toThrow('invalid_request');
    else expect(inClient()).toBe(typed);
  });

  test.each(check_symbol)('$name', ({ canonical: key, holds }) => {
    expect(readLicenseKey(key)).toBe(key);
    expect(hasValidCheckSymbol(key)).toBe(holds);
    expect(readKeyInClient(key)).toBe(key);
  });
});

describe('machine-ids.json', () => {
  test.each(readVectors<MachineIds>('machine-ids.json').read)('$name', async (vector) => {
    const { platform, source, text, uuid, machine_id, mch } = vector;
    expect(machine_id).toBe(uuid && hash('sha256', uuid));
    expect(machine_id && machineDigest(Buffer.from(machine_id, 'hex'))).toBe(mch);
    const environment = { SystemRoot: '%SystemRoot%' };
    const host = hostWithSource(platform, source, text);
    const found = await readMachineId(environment, host).catch(() => null);
    expect(found).toBe(machine_id);
  });

  /** A computer on which only this source can be read. */
  function hostWithSource(platform: string, source: string, text: string): Host {
    const readSource = async (requested: string) => {
      if (requested !== source) throw new Error('not there');
      return text;
    };
    return { platform, run: (command, args) => readSource([command, ...args].join(' ')), read: readSource };
  }
});

describe('license-tokens.json', () => {
  const { key, second_key, cases } = readVectors<Tokens>('license-tokens.json');
  const publicKeys = new Map(
    [key, second_key].map(({ kid, x }) => [
      kid,
      createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' }),
    ]),
  );
  const good = cases.filter(({ genuine }) => genuine);
  const dir = temporaryFolder();
  let ring: KeyRing;

  beforeAll(async () => {
    const since = '2026-11-20T13:00:00Z';
    const published = [...publicKeys].map(([kid, publicKey]) => {
      const file = `${kid}.pem`;
      writeFileSync(join(dir, file), publicKey.export({ format: 'pem', type: 'spki' }));
      return { kid, file, since, state: 'verifying' as const };
    });
    await writeRing(dir, [await createTokenKey(dir, 'active', new Date()), ...published]);
    ring = await KeyRing.open(dir);
  });

  test.each(cases)('$name', ({ token, product, genuine, claims, reason }) => {
    expect(verifyLicenseToken(ring, product, token)).toEqual(genuine ? claims : null);
    expect(reason === undefined).toBe(genuine);
    if (reason === 'wrong_shape') return;
    const isHeaderKnown = ring.byHeader(token.split('.', 1)[0]!) !== undefined;
    expect(isHeaderKnown).toBe(reason !== 'another_header');
  });

  test.each(good)('jose agrees: $name', async ({ token, claims }) => {
    const { payload } = await compactVerify(token, ({ kid }) => publicKeys.get(kid!)!, {
      algorithms: ['Ed25519'],
    });
    expect(JSON.parse(Buffer.from(payload).toString())).toEqual(claims);
  });

  test('jose accepts the signature of a token that is refused for its claims, issuer or audience', async () => {
    const genuinelySigned = cases.filter(({ reason }) =>
      /^wrong_(claims|issuer|audience)$/.test(reason ?? ''),
    );
    expect(genuinelySigned.length).toBeGreaterThan(5);
    for (const { name, token } of genuinelySigned) {
      const { protectedHeader } = await compactVerify(token, publicKeys.get(key.kid)!);
      expect([name, protectedHeader.kid]).toEqual([name, key.kid]);
    }
  });
});
