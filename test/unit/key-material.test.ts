import { beforeEach, describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { createPrivateKey, generateKeyPairSync, hash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Config, ConfigError } from '../../src/core/config.js';
import { publicJwk, publicKeyFromX, thumbprint } from '../../src/keys/ed25519/ed25519.js';
import { deriveLicenseKey } from '../../src/keys/license-key.js';
import { LicenseKeys } from '../../src/keys/license-keys.js';
import {
  developmentManifestKeyFile,
  openExistingKeyRing,
  licenseKeySecret,
  openKeyRing,
  tokenKeysDir,
  trustedManifestKeys,
} from '../../src/keys/key-material.js';
import { createKeyRing } from '../../src/keys/tokens/key-ring.js';
import { temporaryFolder } from '../support/folders.js';

const NOW = new Date('2026-11-20T13:00:00Z');
/** The compiled module, which a child process imports. */
const KEY_MATERIAL_MODULE = new URL('../../dist/keys/key-material.js', import.meta.url).href;
let dir: string;
beforeEach(() => void (dir = temporaryFolder()));

const config = (more: Record<string, string> = {}) => new Config({ DATA_DIR: dir, ...more });
/** Calls a function of the module in a process that may not write a single byte to a file. @returns the message of its error */
async function errorAtFileSizeLimit(call: string): Promise<string> {
  const script = `import('${KEY_MATERIAL_MODULE}').then((m) => ${call}).catch((error) => console.log(error.message))`;
  const limited = ['-c', 'ulimit -f 0; exec "$0" "$@"', process.execPath, '-e', script, dir];
  const child = spawn('sh', limited, { stdio: ['ignore', 'pipe', 'inherit'] });
  return (await text(child.stdout)).trim();
}
const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

describe('the secret of license keys', () => {
  test('is read from the settings, and then no file is made', async () => {
    const secret = randomBytes(32);
    const given = config({ LICENSE_KEY_SECRET: secret.toString('base64') });
    expect(await licenseKeySecret(given)).toEqual(secret);
    expect(await readdir(dir)).toEqual([]);
  });

  test('is made once in development: 32 bytes that only the owner may read', async () => {
    const secrets = await Promise.all(Array.from({ length: 40 }, () => licenseKeySecret(config())));
    const secret = await licenseKeySecret(config());
    expect(secret).toHaveLength(32);
    // Programs that start at the same time share one secret.
    expect(secrets).toEqual(secrets.map(() => secret));
    const file = join(dir, 'keys/license-key.secret');
    expect(Buffer.from(await readFile(file, 'utf8'), 'base64')).toEqual(secret);
    expect([await modeOf(file), await modeOf(join(dir, 'keys'))]).toEqual([0o600, 0o700]);
  });

  test('that cannot be read is never replaced', async () => {
    await mkdir(join(dir, 'keys/license-key.secret'), { recursive: true });
    await expect(licenseKeySecret(config())).rejects.toThrow('(EISDIR)');
    await rm(join(dir, 'keys'), { recursive: true });
    await writeFile(join(dir, 'keys'), '');
    await expect(licenseKeySecret(config())).rejects.toThrow('(EEXIST)');
  });

  test('is made in a new file, never through a symbolic link to another place', async () => {
    await mkdir(join(dir, 'keys'));
    await symlink(join(dir, 'elsewhere'), join(dir, 'keys/license-key.secret'));
    await expect(licenseKeySecret(config())).rejects.toThrow('(ENOENT)');
    expect(await readdir(dir)).toEqual(['keys']);
  });

  test('that cannot be written completely leaves no file and no part of one', async () => {
    expect(await errorAtFileSizeLimit('m.licenseKeySecret({ dataDir: process.argv[1] })')).toBe(
      `DATA_DIR cannot be used: ${dir} (EFBIG).`,
    );
    expect(await readdir(join(dir, 'keys'))).toEqual([]);
    expect(await licenseKeySecret(config())).toHaveLength(32);
    expect(await readdir(join(dir, 'keys'))).toEqual(['license-key.secret']);
  });
});

describe('the key ring', () => {
  test('is made in development, and only once if two programs start at the same time', async () => {
    expect(tokenKeysDir(config())).toBe(join(dir, 'keys/tokens'));
    const [one, two] = await Promise.all([openKeyRing(config(), NOW), openKeyRing(config(), NOW)]);
    expect(two.active.kid).toBe(one.active.kid);
    expect((await openExistingKeyRing(config())).active.kid).toBe(one.active.kid);
  });

  test('whose keys cannot be written completely leaves no file and no part of one', async () => {
    const call = 'm.openKeyRing({ dataDir: process.argv[1], tokenKeysDir: null }, new Date())';
    expect(await errorAtFileSizeLimit(call)).toBe(`DATA_DIR cannot be used: ${dir} (EFBIG).`);
    expect(await readdir(join(dir, 'keys/tokens'))).toEqual([]);
    expect((await openKeyRing(config(), NOW)).keys).toHaveLength(2);
  });

  test('in a DATA_DIR that is a file is refused with a sentence', async () => {
    const file = join(dir, 'file');
    await writeFile(file, '');
    const refused = openKeyRing(config({ DATA_DIR: file }), NOW);
    await expect(refused).rejects.toEqual(new ConfigError(`DATA_DIR cannot be used: ${file} (ENOTDIR).`));
  });

  test('is never made for a command that changes a ring', async () => {
    const refused = openExistingKeyRing(config());
    await expect(refused).rejects.toBeInstanceOf(ConfigError);
    await expect(refused).rejects.toThrow(/^DATA_DIR cannot be used: .*keys\/tokens holds no ring\.json/);
    expect(await readdir(dir)).toEqual([]);
  });

  test('of TOKEN_KEYS_DIR is never made', async () => {
    const given = config({ TOKEN_KEYS_DIR: join(dir, 'ring') });
    expect(tokenKeysDir(given)).toBe(join(dir, 'ring'));
    const refused = openKeyRing(given, NOW);
    await expect(refused).rejects.toBeInstanceOf(ConfigError);
    await expect(refused).rejects.toThrow(/^TOKEN_KEYS_DIR cannot be used: /);
    expect(await readdir(dir)).toEqual([]);
    await createKeyRing(join(dir, 'ring'), NOW);
    expect((await openKeyRing(given, NOW)).active.state).toBe('active');
  });

  test('that is broken is reported, and its file is not changed', async () => {
    await mkdir(join(dir, 'keys/tokens'), { recursive: true });
    await writeFile(join(dir, 'keys/tokens/ring.json'), '{');
    await expect(openKeyRing(config(), NOW)).rejects.toThrow('ring.json is not JSON:');
    expect(await readFile(join(dir, 'keys/tokens/ring.json'), 'utf8')).toBe('{');
    await rm(join(dir, 'keys'), { recursive: true });
    await writeFile(join(dir, 'keys'), '');
    await expect(openKeyRing(config(), NOW)).rejects.toThrow('(ENOTDIR)');
  });
});

describe('the keys of manifests', () => {
  test('are read from the settings, by key_id, and then no key is made', async () => {
    const keys = [0, 1].map(() => generateKeyPairSync('ed25519').publicKey);
    const given = config({ MANIFEST_PUBLIC_KEYS: keys.map((key) => publicJwk(key).x).join(',') });
    const trusted = await trustedManifestKeys(given);
    expect([...trusted.keys()]).toEqual(keys.map(thumbprint));
    expect([...trusted.values()].every((key, i) => key.equals(keys[i]!))).toBe(true);
    expect(await readdir(dir)).toEqual([]);
  });

  test('are a single key in development, whose private half the publishing commands read', async () => {
    const trusted = await trustedManifestKeys(config());
    const file = developmentManifestKeyFile(config());
    expect(file).toBe(join(dir, 'keys/manifest-private.pem'));
    const made = createPrivateKey(await readFile(file, 'utf8'));
    expect([...trusted.keys()]).toEqual([thumbprint(made)]);
    expect(trusted.get(thumbprint(made))!.type).toBe('public');
    expect([...(await trustedManifestKeys(config())).keys()]).toEqual([...trusted.keys()]);
  });
});

describe('a public key', () => {
  const { x } = publicJwk(generateKeyPairSync('ed25519').publicKey);

  test('is accepted in one spelling only: its 32 bytes in base64url', () => {
    expect(publicJwk(publicKeyFromX(x))).toEqual({ kty: 'OKP', crv: 'Ed25519', x });
    const spelledOtherwise = `${'A'.repeat(42)}B`;
    for (const wrong of ['', x.slice(1), `${x}A`, `A${x}`, `${x}=`, ` ${x}`, spelledOtherwise])
      expect(() => publicKeyFromX(wrong)).toThrow('43 characters of base64url');
  });

  test('of another kind cannot become a JWK', () => {
    for (const { publicKey } of [
      generateKeyPairSync('x25519'),
      generateKeyPairSync('ed448'),
      generateKeyPairSync('rsa', { modulusLength: 1024 }),
    ])
      expect(() => publicJwk(publicKey)).toThrow('This is not an Ed25519 key.');
  });
});

test('keys and ids are derived with the secret of the deployment, and license keys with its prefix', () => {
  const secret = randomBytes(32);
  const id = '019a0000-0000-7000-8000-000000000001';
  const keys = new LicenseKeys(secret, 'ABC');
  const license_key = deriveLicenseKey(secret, 'ABC', id, 3);
  expect(keys.derive(id, 3)).toEqual({
    license_key,
    key_hash: hash('sha256', license_key, 'buffer'),
    key_hint: license_key.slice(-2),
  });
  // The expected id was computed with Python's hmac and uuid.
  expect(
    new LicenseKeys(Buffer.from(Array.from({ length: 32 }, (_, n) => n)), 'ABC').issuedLicenseId(
      '0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6',
      'order-1',
    ),
  ).toBe('768601ee-e49c-724e-bbe2-907f0dcb2a1b');
});
