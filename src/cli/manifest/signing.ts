import { createPublicKey, type KeyObject } from 'node:crypto';
import type { Command } from 'commander';
import { Clock, DAY_MS } from '../../core/clock.js';
import { Config } from '../../core/config.js';
import {
  ManifestError,
  manifestBytes,
  readDocument,
  signManifest,
  trustedKeys,
  verifyManifest,
  type SignedManifest,
} from '../../keys/manifests/signed-manifest.js';
import {
  nextManifest,
  MANIFEST_VALIDITY_DAYS,
  refuseUnpublishable,
  type LiveContent,
  type ManifestOffer,
  type PublishContext,
} from '../../manifest/manifest.rules.js';
import { confirmUnlistedKeys } from './listed-keys.js';
import { unusualIn, type Confirmations } from './unusual.js';
import { confirm } from '../terminal/confirm.js';
import { findLive, type FoundManifest } from './live-manifest.js';
import { knownManifestKeys, publisherConfig, signingKeys } from './signing-keys.js';
import { differenceText, differences, manifestText } from './manifest-text.js';
import { passphraseSource } from '../terminal/passphrase.js';
import { resolveFromCallerFolder, refuseExisting, writeNew } from '../terminal/files.js';
import { print, CommandError, printMessage, UsageError, wantsJson } from '../terminal/output.js';

/** The options of the commands that make a manifest: `sign`, `refresh`, `withdraw`. */
export interface SigningOptions extends Confirmations {
  readonly expires?: Date;
  readonly previous?: string;
  readonly key?: string[];
  readonly publicKey?: KeyObject[];
  readonly passphraseFd?: number;
  readonly out?: string;
  readonly prepare?: string;
  readonly dryRun?: true;
}

/** The settings, time and keys with which a manifest is made. */
export interface SigningContext {
  readonly config: Config;
  readonly now: Date;
  readonly expires: Date;
  /** The private keys that sign the manifest. The list is empty with --prepare, and with --dry-run without --key. */
  readonly keys: readonly KeyObject[];
  /** The public keys that verify the live manifest, or the manifest to which a withdrawal goes back. */
  readonly trusted: readonly KeyObject[];
}

/**
 * Checks the options before the disk image is read or a passphrase is asked for.
 * @throws UsageError, or CommandError if a file exists
 */
function checkSigningOptions({ expires, out, prepare, dryRun, key }: SigningOptions): void {
  if (prepare !== undefined && key) throw new UsageError('--prepare signs nothing: omit --key.');
  if ([prepare, dryRun, out].filter((option) => option !== undefined).length > 1)
    throw new UsageError('--prepare, --dry-run and --out exclude each other.');
  for (const file of [out, prepare]) if (file !== undefined) refuseExisting(resolveFromCallerFolder(file));
  if (expires && expires <= new Clock().now()) throw new UsageError('--expires must be in the future.');
}

/** Checks the options, reads the settings, the time and the keys, and asks for the passphrases of encrypted keys. */
export async function openSigningContext(options: SigningOptions): Promise<SigningContext> {
  checkSigningOptions(options);
  const config = publisherConfig();
  const now = new Clock().now();
  const isUnsigned = options.prepare !== undefined || options.dryRun === true;
  const files = options.key ?? [];
  const ask = passphraseSource(options.passphraseFd);
  const keys = isUnsigned && files.length === 0 ? [] : await signingKeys(files, ask, config);
  const named = options.publicKey ?? [];
  const known = await knownManifestKeys(config);
  await confirmUnlistedKeys({ keys, files, named, known }, config);
  const trusted = [...keys.map((key) => createPublicKey(key)), ...named, ...known];
  const expires = options.expires ?? new Date(now.getTime() + MANIFEST_VALIDITY_DAYS * DAY_MS);
  return { config, now, expires, keys, trusted };
}

/** Finds and verifies the live manifest, and prints where it was found. */
export async function loadLiveManifest(
  { previous }: SigningOptions,
  context: SigningContext,
): Promise<LiveContent> {
  const found = await findLive(previous, context.config);
  const live = verifyFound(found, context);
  const { version, sequence } = live.content;
  printMessage(`The live manifest is from ${found.from}: version ${version}, sequence ${sequence}.`);
  return live;
}

/** Verifies a manifest before its content is used for a new manifest: its source may have changed it. @throws CommandError */
export function verifyFound(
  { document, from }: FoundManifest,
  { trusted, config: { product } }: SigningContext,
): LiveContent {
  try {
    const content = verifyManifest(document, trustedKeys(trusted));
    if (content.product === product) return { content, signed: readDocument(document).signed };
    throw new CommandError(
      `The manifest of ${from} is for the product ${content.product}; PRODUCT is ${product}.`,
    );
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error;
    const hint = 'give the public key of its signature with --public-key';
    throw new CommandError(
      `The manifest of ${from} cannot be used: ${error.message} If it is yours, ${hint}.`,
    );
  }
}

/** What is known on a publisher's machine about the published manifests. The new manifest is checked against it. */
type PublishedState = Omit<PublishContext, 'product' | 'now'>;

/** What the new manifest offers, its sequence number if it is not the next one, and whether `sign` read a disk image. */
interface SigningOffer extends Omit<ManifestOffer, 'expires'> {
  readonly sequence?: number;
  readonly isDiskImage?: boolean;
}

/**
 * Makes the content of a manifest, and signs it, writes the bytes to sign (--prepare) or prints what would change (--dry-run).
 * @throws PublishError if the published state shows that `manifest publish` would refuse the manifest
 * @throws CommandError if something unusual about it is not confirmed
 */
export async function makeManifest(
  { sequence, isDiskImage, ...offer }: SigningOffer,
  publishedState: PublishedState,
  { config, now, expires, keys }: SigningContext,
  options: SigningOptions,
  command: Command,
): Promise<void> {
  const { live } = publishedState;
  const { product } = config;
  const content = nextManifest(live, { ...offer, expires }, { product, now, sequence });
  refuseUnpublishable(content, { ...publishedState, product, now });
  const draft = { next: content, live: live?.content ?? null, now, isDiskImage };
  for (const unusual of unusualIn(draft, options)) await confirm(unusual);
  const textToSign = manifestBytes(content);
  if (options.dryRun) {
    const changes = differences(draft.live, content);
    return print(command, { live: draft.live, next: content, changes }, differenceText(changes));
  }
  if (options.prepare !== undefined)
    return prepare(textToSign, resolveFromCallerFolder(options.prepare), command);
  await writeManifest(signManifest(textToSign, keys), options.out, command);
}

/** Writes a file with the bytes that are signed elsewhere, without a line end, because a line end would change the signed text. */
async function prepare(textToSign: string, file: string, command: Command): Promise<void> {
  await writeNew(file, textToSign);
  const text = [
    `The bytes to sign are in ${file}. Sign them unchanged (Ed25519, not hashed before), then:`,
    `  mooring manifest sign --prepared ${file} --attach SIGNATURE_FILE --out manifest.json`,
    'If MANIFEST_PUBLIC_KEYS lacks the key, add --public-key with the member x of its JWK.',
  ];
  print(command, { file, bytes: Buffer.byteLength(textToSign) }, text.join('\n'));
}

/** Writes the document to the file --out or, without it, to standard output. Prints a summary unless --json is given. */
export async function writeManifest(
  document: SignedManifest,
  out: string | undefined,
  command: Command,
): Promise<void> {
  const summary = manifestText(document);
  if (out === undefined) {
    if (!wantsJson(command)) printMessage(summary);
    return print(command, document, JSON.stringify(document));
  }
  const file = resolveFromCallerFolder(out);
  await writeNew(file, `${JSON.stringify(document)}\n`);
  print(command, document, `${summary}\nWritten to  ${file}`);
}
