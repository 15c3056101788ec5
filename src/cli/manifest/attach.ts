import type { KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { isSignature, thumbprint, verifyText } from '../../keys/ed25519.js';
import { assembleManifest, type ManifestSignature } from '../../keys/manifests/signed-manifest.js';
import { knownManifestKeys, publisherConfig } from './signing-keys.js';
import { hand, refuseExisting } from './next.js';
import { callersPath, fileRefusal, Refused, UsageError } from '../terminal/output.js';

const SIGNATURE_BYTES = 64;
/** What every command takes. */
const COMMON = ['json', 'as'];

export interface AttachOptions {
  /** The file that `--prepare` wrote. */
  readonly prepared?: string;
  /** Files with a signature over its bytes. */
  readonly attach?: string[];
  readonly publicKey?: KeyObject[];
  readonly out?: string;
}

/** `manifest sign --prepared FILE --attach SIGNATURE`: signatures made elsewhere (HSM, KMS, air gap). */
export async function attach(
  { prepared, attach: files, publicKey, out, ...others }: AttachOptions,
  command: Command,
): Promise<void> {
  if (prepared === undefined || !files) throw new UsageError('--prepared and --attach belong together.');
  refuseOthers(others);
  if (out !== undefined) refuseExisting(callersPath(out));
  const keys = [...(publicKey ?? []), ...(await knownManifestKeys(publisherConfig()))];
  if (keys.length === 0) throw new UsageError('--public-key must name the key of the signature.');
  const signed = (await read(prepared)).toString();
  const signatures: ManifestSignature[] = [];
  for (const file of files) signatures.push(signatureOf(signed, await read(file), file, keys));
  if (new Set(signatures.map(({ key_id }) => key_id)).size < signatures.length)
    throw new UsageError('--attach names two signatures of one key.');
  await hand(assembleManifest(signed, signatures), out, command);
}

/** What is signed was decided when it was prepared: an option that would change it would be passed over. */
function refuseOthers(others: Readonly<Record<string, unknown>>): void {
  const [name] = Object.keys(others).filter((option) => !COMMON.includes(option));
  if (!name) return;
  const option = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw new UsageError(`--${option} has no place beside --attach: what is signed was prepared before.`);
}

/** Whose it is, is found by trying: a signature does not name its key. */
function signatureOf(
  signed: string,
  bytes: Buffer,
  file: string,
  keys: readonly KeyObject[],
): ManifestSignature {
  const signature = readSignature(bytes);
  if (signature === null)
    throw new Refused(`${file} is not an Ed25519 signature: 64 bytes, as they are or in base64.`);
  const key = keys.find((key) => verifyText(key, signed, signature));
  if (key) return { key_id: thumbprint(key), signature };
  throw new Refused(`The signature in ${file} is by no key named here, or over other bytes.`);
}

/** As the tools write it: raw (openssl, PKCS#11), or as text in base64 or base64url (the cloud's key services). */
function readSignature(bytes: Buffer): string | null {
  const raw =
    bytes.length === SIGNATURE_BYTES ? bytes : Buffer.from(bytes.toString('latin1').trim(), 'base64');
  const text = raw.toString('base64url');
  return isSignature(text) ? text : null;
}

async function read(name: string): Promise<Buffer> {
  const file = callersPath(name);
  return readFile(file).catch((error: unknown) => {
    throw fileRefusal(file, error);
  });
}
