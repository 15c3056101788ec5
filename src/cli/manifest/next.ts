import type { KeyObject } from 'node:crypto';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
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
import { findLive, type Found } from './live-manifest.js';
import { knownManifestKeys, publicHalves, publisherConfig, signingKeys } from './signing-keys.js';
import { differenceText, differences, manifestText } from './manifest-text.js';
import { passphraseSource } from '../terminal/passphrase.js';
import {
  callersPath,
  fileRefusal,
  print,
  Refused,
  printMessage,
  UsageError,
  wantsJson,
} from '../terminal/output.js';

/** What every command takes that makes the next manifest: `sign`, `refresh`, `withdraw`. */
export interface NextOptions {
  readonly expires?: Date;
  readonly previous?: string;
  readonly key?: string[];
  readonly publicKey?: KeyObject[];
  readonly passphraseFd?: number;
  readonly out?: string;
  readonly prepare?: string;
  readonly dryRun?: true;
}

/** With what the next manifest is made. */
export interface SigningContext {
  readonly config: Config;
  readonly now: Date;
  readonly expires: Date;
  /** None where the signature is made elsewhere, or nothing is to be signed. */
  readonly keys: readonly KeyObject[];
  readonly trusted: readonly KeyObject[];
}

/** Refuses what can be refused before anyone waits for an image or types a passphrase. */
export function checkNext({ expires, out, prepare, dryRun, key }: NextOptions): void {
  if (prepare !== undefined && key) throw new UsageError('--prepare signs nothing: leave --key away.');
  if ([prepare, dryRun, out].filter((given) => given !== undefined).length > 1)
    throw new UsageError('--prepare, --dry-run and --out exclude each other.');
  for (const file of [out, prepare]) if (file !== undefined) refuseExisting(callersPath(file));
  if (expires && expires <= new Clock().now()) throw new UsageError('--expires must lie in the future.');
}

export function refuseExisting(file: string): void {
  if (existsSync(file)) throw fileRefusal(file, { code: 'EEXIST' });
}

export async function openSigningContext(options: NextOptions): Promise<SigningContext> {
  const config = publisherConfig();
  const now = new Clock().now();
  const unsigned = options.prepare !== undefined || options.dryRun === true;
  const files = options.key ?? [];
  const ask = passphraseSource(options.passphraseFd);
  const keys = unsigned && files.length === 0 ? [] : await signingKeys(files, ask, config);
  const trusted = [...publicHalves(keys), ...(options.publicKey ?? []), ...(await knownManifestKeys(config))];
  const expires = options.expires ?? new Date(now.getTime() + MANIFEST_VALIDITY_DAYS * DAY_MS);
  return { config, now, expires, keys, trusted };
}

/** The live manifest to build upon, verified and named to the person. */
export async function liveManifest(
  { previous }: NextOptions,
  workshop: SigningContext,
): Promise<LiveContent> {
  const found = await findLive(previous, workshop.config);
  const live = verified(found, workshop);
  const { version, sequence } = live.content;
  printMessage(`The live manifest is that of ${found.from}: version ${version}, sequence ${sequence}.`);
  return live;
}

/** What it says is signed again with ours: whoever serves it must not be able to put in a word of their own. */
export function verified(
  { document, from }: Found,
  { trusted, config: { product } }: SigningContext,
): LiveContent {
  try {
    const content = verifyManifest(document, trustedKeys(trusted));
    if (content.product === product) return { content, signed: readDocument(document).signed };
    throw new Refused(
      `The manifest of ${from} is for the product ${content.product}; PRODUCT says ${product}.`,
    );
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error;
    const hint = 'give the key it was signed with as --public-key';
    throw new Refused(
      `The manifest of ${from} cannot be built upon: ${error.message} If it is yours, ${hint}.`,
    );
  }
}

/** What the next manifest is held against, as far as a publisher's machine can know. */
export type Past = Omit<PublishContext, 'product' | 'now'>;

/** What the next manifest offers; `first` is the sequence of one that begins a chain. */
export interface NextOffer extends Omit<ManifestOffer, 'expires'> {
  readonly first?: number;
}

/** Makes the manifest and signs it, or writes its bytes, or shows what it would change; what the server would refuse is refused. */
export async function finish(
  { first, ...offer }: NextOffer,
  past: Past,
  { config, now, expires, keys }: SigningContext,
  options: NextOptions,
  command: Command,
): Promise<void> {
  const { live } = past;
  const { product } = config;
  const content = nextManifest(live, { ...offer, expires }, { product, now, first });
  refuseUnpublishable(content, { ...past, product, now });
  const signed = manifestBytes(content);
  if (options.dryRun) {
    const changes = differences(live?.content ?? null, content);
    return print(command, { live: live?.content ?? null, next: content, changes }, differenceText(changes));
  }
  if (options.prepare !== undefined) return prepare(signed, callersPath(options.prepare), command);
  await hand(signManifest(signed, keys), options.out, command);
}

/** The exact bytes that a signature made elsewhere must be over: no line end, or it would be over another text. */
async function prepare(signed: string, file: string, command: Command): Promise<void> {
  await writeNew(file, signed);
  const text = [
    `The bytes to sign lie in ${file}. Sign them as they are (Ed25519, no hash before it), then:`,
    `  mooring manifest sign --prepared ${file} --attach SIGNATURE --public-key X --out manifest.json`,
  ];
  print(command, { file, bytes: Buffer.byteLength(signed) }, text.join('\n'));
}

/** The document goes to --out or, without it and with --json, to standard output; a person gets the summary too. */
export async function hand(
  document: SignedManifest,
  out: string | undefined,
  command: Command,
): Promise<void> {
  const summary = manifestText(document);
  if (out === undefined) {
    if (!wantsJson(command)) printMessage(summary);
    return print(command, document, JSON.stringify(document));
  }
  const file = callersPath(out);
  await writeNew(file, `${JSON.stringify(document)}\n`);
  print(command, document, `${summary}\nWritten to  ${file}`);
}

async function writeNew(file: string, text: string): Promise<void> {
  await writeFile(file, text, { flag: 'wx', flush: true }).catch((error: unknown) => {
    throw fileRefusal(file, error);
  });
}
