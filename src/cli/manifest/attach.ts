import type { KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { isSignature, thumbprint, verifyText } from '../../keys/ed25519/ed25519.js';
import { assembleManifest, type ManifestSignature } from '../../keys/manifests/signed-manifest.js';
import { knownManifestKeys, publisherConfig } from './signing-keys.js';
import { writeManifest } from './signing.js';
import { explainFileError, resolveFromCallerFolder, refuseExisting } from '../terminal/files.js';
import { typedOption } from '../terminal/options.js';
import { CommandError, UsageError } from '../terminal/output.js';

const SIGNATURE_BYTES = 64;
/** The options that every command has. They do not change the content of the manifest. */
const COMMON_OPTIONS = ['json', 'as'];

/** The options of `sign` with --attach. */
export interface AttachOptions {
  /** The file that `--prepare` wrote. */
  readonly prepared?: string;
  /** Files with a signature over the bytes of the prepared file. */
  readonly attach?: string[];
  /** Public keys that may belong to the signatures, in addition to those that the settings trust. */
  readonly publicKey?: KeyObject[];
  readonly out?: string;
}

/** `manifest sign --prepared FILE --attach SIGNATURE`: adds signatures that were made elsewhere (HSM, KMS, offline machine). */
export async function attachSignatures(
  { prepared, attach: files, publicKey, out, ...others }: AttachOptions,
  command: Command,
): Promise<void> {
  if (prepared === undefined || !files)
    throw new UsageError('--prepared and --attach must be given together.');
  refuseOtherOptions(others);
  if (out !== undefined) refuseExisting(resolveFromCallerFolder(out));
  const keys = [...(publicKey ?? []), ...(await knownManifestKeys(publisherConfig()))];
  if (keys.length === 0) throw new UsageError('--public-key must name the key of the signature.');
  const signed = (await read(prepared)).toString();
  const signatures: ManifestSignature[] = [];
  for (const file of files) signatures.push(withKeyId(signed, await read(file), file, keys));
  if (new Set(signatures.map(({ key_id }) => key_id)).size < signatures.length)
    throw new UsageError('--attach names two signatures of one key.');
  await writeManifest(assembleManifest(signed, signatures), out, command);
}

/** Refuses all other options of `sign`, with which the content would be changed or signed. @throws UsageError */
function refuseOtherOptions(others: Readonly<Record<string, unknown>>): void {
  const [name] = Object.keys(others).filter((option) => !COMMON_OPTIONS.includes(option));
  if (!name) return;
  throw new UsageError(
    `${typedOption(name)} cannot be used with --attach, which only adds signatures to the prepared content.`,
  );
}

/**
 * Finds the key of a signature, and adds its id. All keys are tried, because a signature does not name its key.
 * @throws CommandError
 */
function withKeyId(
  signed: string,
  bytes: Buffer,
  file: string,
  keys: readonly KeyObject[],
): ManifestSignature {
  const signature = readSignature(bytes);
  if (signature === null)
    throw new CommandError(
      `${file} is not an Ed25519 signature. It must have 64 bytes, as raw bytes or as base64 or base64url text.`,
    );
  const key = keys.find((key) => verifyText(key, signed, signature));
  if (key) return { key_id: thumbprint(key), signature };
  throw new CommandError(
    `The signature in ${file} fits no key of --public-key or of the settings, or it signs other bytes.`,
  );
}

/** Reads a signature: raw bytes (openssl, PKCS#11), or base64 or base64url text (cloud key services); null if it is neither. */
function readSignature(bytes: Buffer): string | null {
  const raw =
    bytes.length === SIGNATURE_BYTES ? bytes : Buffer.from(bytes.toString('latin1').trim(), 'base64');
  const text = raw.toString('base64url');
  return isSignature(text) ? text : null;
}

async function read(name: string): Promise<Buffer> {
  const file = resolveFromCallerFolder(name);
  return explainFileError(file, readFile(file));
}
