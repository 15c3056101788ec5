import { createPrivateKey, generateKeyPairSync, randomBytes, randomUUID, type KeyObject } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Config, ConfigError } from '../core/config.js';
import { publicJwk, publicKeyFromX } from './ed25519.js';
import { createKeyRing, KeyRing } from './tokens/key-ring.js';
import { trustedKeys } from './manifests/signed-manifest.js';

/** Where development keeps the keys it makes for itself; production names its own (docs/contract.md#settings). */
const developmentFile = (config: Config, name: string) => join(config.dataDir, 'keys', name);

/** The development half of a manifest key, unencrypted: `npm start` and the demo publish with it. */
export const developmentManifestKey = (config: Config) => developmentFile(config, 'manifest-private.pem');

/** 32 bytes: LICENSE_KEY_SECRET, or in development what `DATA_DIR/keys` holds. */
export async function licenseKeySecret(config: Config): Promise<Buffer> {
  if (config.licenseKeySecret) return config.licenseKeySecret;
  const file = developmentFile(config, 'license-key.secret');
  return Buffer.from(await readOrMake(file, () => randomBytes(32).toString('base64')), 'base64');
}

/** Where the token-signing keys lie: TOKEN_KEYS_DIR, or in development `DATA_DIR/keys/tokens`. */
export const tokenKeysDir = (config: Config) => config.tokenKeysDir ?? developmentFile(config, 'tokens');

/** The ring of TOKEN_KEYS_DIR, or in development one made in `DATA_DIR/keys/tokens`. */
export async function openKeyRing(config: Config, now: Date): Promise<KeyRing> {
  if (config.tokenKeysDir) return existingKeyRing(config);
  return existingKeyRing(config).catch(async () => {
    await createKeyRing(tokenKeysDir(config), now).catch((error: unknown) => ignoreIfMade(error));
    return existingKeyRing(config);
  });
}

/** The same, and none is made: a command that changes it would else change one that no instance reads. */
export function existingKeyRing(config: Config): Promise<KeyRing> {
  return KeyRing.open(tokenKeysDir(config)).catch(({ message }: Error) => {
    throw new ConfigError(
      `${config.tokenKeysDir ? 'TOKEN_KEYS_DIR' : 'DATA_DIR'} cannot be used: ${message}`,
    );
  });
}

/** The keys that a published manifest may be signed with, by key_id. */
export async function trustedManifestKeys(config: Config): Promise<Map<string, KeyObject>> {
  if (config.manifestPublicKeys) return trustedKeys(config.manifestPublicKeys.map(publicKeyFromX));
  const pem = await readOrMake(developmentManifestKey(config), () =>
    generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
  );
  return trustedKeys([publicKeyFromX(publicJwk(createPrivateKey(pem)).x)]);
}

// Two programs may start on one empty folder (the server and the command line): the first file is kept.
async function readOrMake(file: string, make: () => string): Promise<string> {
  const read = () => readFile(file, 'utf8');
  return read().catch(async () => {
    await mkdir(join(file, '..'), { recursive: true, mode: 0o700 });
    const temporary = `${file}.${randomUUID()}`;
    try {
      await writeFile(temporary, make(), { mode: 0o600, flush: true });
      // The other program must never read half a file; `link` refuses to replace one.
      await link(temporary, file).catch(ignoreIfMade);
    } finally {
      await rm(temporary, { force: true });
    }
    return read();
  });
}

function ignoreIfMade(error: unknown): void {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code !== 'EEXIST' && !message.includes('already')) throw error;
}
