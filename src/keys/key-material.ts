import { createPrivateKey, generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Config, ConfigError } from '../core/config.js';
import { dataDirError } from '../core/config-error.js';
import { replaceFile } from '../core/new-file.js';
import { publicJwk, publicKeyFromX } from './ed25519/ed25519.js';
import { LicenseKeys } from './license-keys.js';
import { createKeyRing, KeyRing } from './tokens/key-ring.js';
import { trustedKeys } from './manifests/signed-manifest.js';

/** Returns a path in the folder of the keys that are generated in development; production has settings for its keys. */
const developmentKeyPath = (config: Config, name: string) => join(config.dataDir, 'keys', name);

/** Returns the path of the unencrypted manifest key of development, with which `npm start` and the demo sign manifests. */
export const developmentManifestKeyFile = (config: Config) =>
  developmentKeyPath(config, 'manifest-private.pem');

const developmentSecretFile = (config: Config) => developmentKeyPath(config, 'license-key.secret');

/** Returns LICENSE_KEY_SECRET (32 bytes). Without this setting, in development, the secret is generated in `DATA_DIR/keys`. */
export async function licenseKeySecret(config: Config): Promise<Buffer> {
  if (config.licenseKeySecret) return config.licenseKeySecret;
  return Buffer.from(
    await readOrCreate(config, developmentSecretFile(config), () => randomBytes(32).toString('base64')),
    'base64',
  );
}

/** Reads the secret from which license keys are derived, and returns what derives them. */
export async function readLicenseKeys(config: Config): Promise<LicenseKeys> {
  return new LicenseKeys(await licenseKeySecret(config), config.licenseKeyPrefix);
}

/** As `readLicenseKeys`, but does not create a missing secret of development. @returns null if it is missing */
export async function readExistingLicenseKeys(config: Config): Promise<LicenseKeys | null> {
  const exists = config.licenseKeySecret !== undefined || existsSync(developmentSecretFile(config));
  return exists ? readLicenseKeys(config) : null;
}

/** Returns the folder of the token keys: TOKEN_KEYS_DIR, or in development `DATA_DIR/keys/tokens`. */
export const tokenKeysDir = (config: Config) => config.tokenKeysDir ?? developmentKeyPath(config, 'tokens');

/** Reads the token key ring. Without TOKEN_KEYS_DIR, a missing ring is created. @throws ConfigError if it cannot be read */
export async function openKeyRing(config: Config, now: Date): Promise<KeyRing> {
  if (config.tokenKeysDir) return openExistingKeyRing(config);
  const create = async () => {
    await createKeyRing(tokenKeysDir(config), now).catch((error: unknown) => ignoreIfExists(error));
    return openExistingKeyRing(config);
  };
  return openExistingKeyRing(config).catch(() => inDataDir(config, create));
}

/**
 * Reads the token key ring, and does not create one: a command with a wrong folder must not create a ring that no instance reads.
 * @throws ConfigError if the ring is missing or invalid
 */
export function openExistingKeyRing(config: Config): Promise<KeyRing> {
  return KeyRing.open(tokenKeysDir(config)).catch(({ message }: Error) => {
    const setting = config.tokenKeysDir ? 'TOKEN_KEYS_DIR' : 'DATA_DIR';
    throw new ConfigError(
      `${setting} cannot be used: ${message.replace(/\.$/, '')}: correct ${setting}, give this user access, restore the folder ` +
        'from its backup, or make a new ring (docs/operations/secrets-and-files.md#lost-token-keys).',
    );
  });
}

/** Returns the keys that may have signed a published manifest, by key_id. In development the key is generated. */
export async function trustedManifestKeys(config: Config): Promise<Map<string, KeyObject>> {
  if (config.manifestPublicKeys) return trustedKeys(config.manifestPublicKeys.map(publicKeyFromX));
  const pem = await readOrCreate(config, developmentManifestKeyFile(config), () =>
    generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
  );
  return trustedKeys([publicKeyFromX(publicJwk(createPrivateKey(pem)).x)]);
}

// Returns the content of a file of DATA_DIR, and creates the file if it is missing. The service and a command may start together in
// an empty folder: the file that is written first is kept.
async function readOrCreate(config: Config, file: string, make: () => string): Promise<string> {
  const read = () => readFile(file, 'utf8');
  const create = async () => {
    await mkdir(join(file, '..'), { recursive: true, mode: 0o700 });
    // `link` neither shows an incomplete file to the other program nor replaces its file.
    await replaceFile(file, make(), link).catch(ignoreIfExists);
    return read();
  };
  return read().catch(() => inDataDir(config, create));
}

function ignoreIfExists(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
}

/** Creates and reads files of DATA_DIR. @throws ConfigError if a system call fails */
async function inDataDir<Result>({ dataDir }: Config, work: () => Promise<Result>): Promise<Result> {
  return work().catch((error: unknown) => {
    throw dataDirError(dataDir, error);
  });
}
