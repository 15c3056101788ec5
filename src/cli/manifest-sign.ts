import type { KeyObject } from 'node:crypto';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Command } from 'commander';
import { Clock, DAY_MS, rfc3339, rfc3339OrNull } from '../clock.js';
import { Config } from '../config.js';
import {
  alsoAvailable,
  MANIFEST_TYPE,
  ManifestError,
  manifestBytes,
  readDocument,
  signManifest,
  trustedKeys,
  verifyManifest,
  type ManifestContent,
  type SignedManifest,
} from '../keys/signed-manifest.js';
import { manifestDigest, PublishedVersions, refuseUnpublishable } from '../manifest/manifest.rules.js';
import { readImage } from './image.js';
import { findLive } from './live-manifest.js';
import { knownManifestKeys, publicHalves, publisherConfig, signingKeys } from './manifest-keys.js';
import { manifestText } from './manifest-text.js';
import { passphraseSource } from './passphrase.js';
import { progressBar } from './progress-bar.js';
import { callersPath, fileRefusal, print, Refused, say, UsageError, wantsJson } from './terminal.js';

const DEFAULT_DAYS = 90;

export interface SignOptions {
  readonly dmg: string;
  readonly version: string;
  readonly url: string;
  readonly minimumLicenseExpiry?: Date;
  readonly expires?: Date;
  readonly previous?: string;
  readonly first?: true;
  readonly key?: string[];
  readonly publicKey?: KeyObject[];
  readonly passphraseFd?: number;
  readonly out?: string;
}

interface Live {
  readonly content: ManifestContent;
  readonly signed: string;
}

/** `manifest sign`: needs no server and no database where the live manifest is named. */
export async function sign(options: SignOptions, command: Command): Promise<void> {
  const config = publisherConfig();
  const now = new Clock().now();
  const out = options.out === undefined ? undefined : callersPath(options.out);
  // What can be refused is refused before anyone waits or types a passphrase.
  if (out !== undefined && existsSync(out)) throw fileRefusal(out, { code: 'EEXIST' });
  const expires = options.expires ?? new Date(now.getTime() + DEFAULT_DAYS * DAY_MS);
  if (expires <= now) throw new UsageError('--expires must lie in the future.');
  const image = await readImage(callersPath(options.dmg), progressBar(basename(options.dmg)));
  const keys = await signingKeys(options.key ?? [], passphraseSource(options.passphraseFd), config);
  const trusted = [...publicHalves(keys), ...(options.publicKey ?? []), ...(await knownManifestKeys(config))];
  const live = options.first ? null : await verifiedLive(options.previous, trusted, config);
  const signed = contentBytes(options, { image, live, now, expires, product: config.product });
  const document = signManifest(signed, keys);
  if (out !== undefined) await write(out, document);
  answer(document, out, command);
}

// Its older versions are signed again with ours: whoever serves it must not be able to put in one of their own.
async function verifiedLive(
  previous: string | undefined,
  trusted: KeyObject[],
  config: Config,
): Promise<Live> {
  const { document, from } = await findLive(previous, config);
  const { product } = config;
  try {
    const content = verifyManifest(document, trustedKeys(trusted));
    if (content.product !== product)
      throw new Refused(
        `The manifest of ${from} is for the product ${content.product}; PRODUCT says ${product}.`,
      );
    say(`The live manifest is that of ${from}: version ${content.version}, sequence ${content.sequence}.`);
    return { content, signed: readDocument(document).signed };
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error;
    const hint = 'give the key it was signed with as --public-key';
    throw new Refused(
      `The manifest of ${from} cannot be built upon: ${error.message} If it is yours, ${hint}.`,
    );
  }
}

interface Facts {
  readonly image: { size: number; sha256: string };
  readonly live: Live | null;
  readonly now: Date;
  readonly expires: Date;
  readonly product: string;
}

function contentBytes(options: SignOptions, { image, live, now, expires, product }: Facts): string {
  const minimum_license_expiry = rfc3339OrNull(options.minimumLicenseExpiry ?? null);
  const content: ManifestContent = {
    _type: MANIFEST_TYPE,
    product,
    sequence: (live?.content.sequence ?? 0) + 1,
    issued_at: rfc3339(now),
    expires_at: rfc3339(expires),
    version: options.version,
    dmg: { url: options.url, ...image },
    minimum_license_expiry,
    also_available: live ? alsoAvailable(minimum_license_expiry, live.content) : [],
    previous: live && manifestDigest(live.signed),
  };
  // What the server would refuse for certain is not signed in the first place.
  const versions = new PublishedVersions();
  if (live) versions.add(live.content);
  refuseUnpublishable(content, live, versions.find(content.version), product, now);
  return manifestBytes(content);
}

async function write(out: string, document: SignedManifest): Promise<void> {
  await writeFile(out, `${JSON.stringify(document)}\n`, { flag: 'wx', flush: true }).catch(
    (error: unknown) => {
      throw fileRefusal(out, error);
    },
  );
}

/** The document goes to --out or, without it and with --json, to standard output; a person gets the summary too. */
function answer(document: SignedManifest, out: string | undefined, command: Command): void {
  const summary = manifestText(document);
  if (out !== undefined) return print(command, document, `${summary}\nWritten to  ${out}`);
  if (!wantsJson(command)) say(summary);
  print(command, document, JSON.stringify(document));
}
