import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Config } from '../../core/config.js';
import { isEd25519, publicJwk, publicKeyFromX, thumbprint } from '../../keys/ed25519/ed25519.js';
import { encryptedPrivateKey } from '../../keys/ed25519/encrypted-private-key.js';
import { DATABASE_SETTINGS } from '../context/has-database.js';
import { developmentManifestKeyFile, trustedManifestKeys } from '../../keys/key-material.js';
import type { AskPassphrase } from '../terminal/passphrase.js';
import { explainFileError, resolveFromCallerFolder, refuseExisting, writeNew } from '../terminal/files.js';
import { CommandError, printMessage, UsageError } from '../terminal/output.js';

/** The settings that `publisherConfig` reads. `manifest publish` in a database reads all settings. */
const PUBLISHER_SETTINGS = [
  'PUBLIC_URL',
  'PRODUCT',
  'MANIFEST_PUBLIC_KEYS',
  'STAFF_TOKEN',
  'DATA_DIR',
  ...DATABASE_SETTINGS,
];

/**
 * Reads the settings of a publisher's machine and no others: the job of a pipeline may have a PORT or LOG_LEVEL of another program.
 * The mode is always development, because production would require the settings of a service.
 */
export function publisherConfig(): Config {
  const settings = PUBLISHER_SETTINGS.map((name) => [name, process.env[name]] as const);
  return new Config({ ...Object.fromEntries(settings), NODE_ENV: 'development' });
}

// This is read from the environment, because `publisherConfig` is always in development mode.
const isDevelopment = () => process.env['NODE_ENV'] !== 'production';

/**
 * Creates a private key in a new file of mode 0600. @param ask asks for the passphrase; null for a key that is not encrypted
 * @returns the id of the key and its public half, in base64url @throws CommandError if the file exists or cannot be written
 */
export async function makeKeyFile(
  file: string,
  ask: AskPassphrase | null,
): Promise<{ key_id: string; public_key: string }> {
  // The file is checked before the passphrase is asked for.
  refuseExisting(file);
  const { privateKey } = generateKeyPairSync('ed25519');
  const passphrase = ask && (await ask('Passphrase of the new key: '));
  const pem =
    passphrase === null
      ? privateKey.export({ format: 'pem', type: 'pkcs8' })
      : encryptedPrivateKey(privateKey, passphrase);
  await writeNew(file, pem, 0o600);
  return { key_id: thumbprint(privateKey), public_key: publicJwk(privateKey).x };
}

/**
 * Reads the private keys to sign with. Without files, that is the generated manifest key of development.
 * @throws UsageError if there are no files and no development key, or if two files have the same key
 * @throws CommandError if a file cannot be used
 */
export async function signingKeys(
  files: readonly string[],
  ask: AskPassphrase,
  config: Config,
): Promise<KeyObject[]> {
  if (files.length === 0) return [await developmentKey(config)];
  const keys: KeyObject[] = [];
  for (const file of files) keys.push(await readPrivateKey(resolveFromCallerFolder(file), ask));
  if (new Set(keys.map(thumbprint)).size < keys.length)
    throw new UsageError('--key names the same key twice.');
  return keys;
}

/** Returns the public keys that these settings trust: MANIFEST_PUBLIC_KEYS, or in development the generated key, if it exists. */
export async function knownManifestKeys(config: Config): Promise<KeyObject[]> {
  if (config.manifestPublicKeys) return config.manifestPublicKeys.map(publicKeyFromX);
  if (!isDevelopment() || !existsSync(developmentManifestKeyFile(config))) return [];
  return [...(await trustedManifestKeys(config)).values()];
}

/** Reads the manifest key of development. @throws UsageError if there is none */
async function developmentKey(config: Config): Promise<KeyObject> {
  // This call creates the key if it is missing, unless MANIFEST_PUBLIC_KEYS is set.
  if (isDevelopment()) await trustedManifestKeys(config);
  const file = developmentManifestKeyFile(config);
  if (!isDevelopment() || !existsSync(file)) throw new UsageError('--key must name the key to sign with.');
  printMessage(`Signing with the development key, ${file}.`);
  return createPrivateKey(await readFile(file));
}

async function readPrivateKey(file: string, ask: AskPassphrase): Promise<KeyObject> {
  const pem = await explainFileError(file, readFile(file, 'utf8'));
  const isEncrypted = pem.includes('BEGIN ENCRYPTED PRIVATE KEY');
  // A publisher who reads that the passphrase is wrong could give up a key of which there is a copy.
  if (isEncrypted && isDamaged(pem))
    throw new CommandError(`${file} is damaged or incomplete: copy it again.`);
  const passphrase = isEncrypted ? await ask(`Passphrase of ${file}: `) : undefined;
  const key = openPem(pem, passphrase);
  if (key && isEd25519(key)) return key;
  if (!key && isEncrypted)
    throw new CommandError(`The passphrase does not open ${file}, or the file is damaged.`);
  throw new CommandError(`${file} is not an Ed25519 private key in PEM.`);
}

/** Whether the text of an encrypted key is visibly not whole: then no passphrase is needed to see that it cannot be opened. */
function isDamaged(pem: string): boolean {
  try {
    createPrivateKey(pem);
  } catch (error) {
    // A whole key gives the error that a passphrase is missing. An unknown error must not prevent the use of a whole key.
    return /^ERR_OSSL_(UNSUPPORTED|PEM_)/.test((error as NodeJS.ErrnoException).code ?? '');
  }
  return false;
}

function openPem(pem: string, passphrase: string | undefined): KeyObject | null {
  try {
    return createPrivateKey({ key: pem, passphrase });
  } catch {
    return null;
  }
}
