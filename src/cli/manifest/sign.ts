import { basename } from 'node:path';
import type { Command } from 'commander';
import { rfc3339OrNull } from '../../core/clock.js';
import { alsoAvailable } from '../../keys/manifests/signed-manifest.js';
import { PublishedVersions } from '../../manifest/published-versions.js';
import { readImage } from './image.js';
import { attachSignatures, type AttachOptions } from './attach.js';
import { makeManifest, loadLiveManifest, openSigningContext, type SigningOptions } from './signing.js';
import { progressBar } from '../terminal/progress-bar.js';
import { resolveFromCallerFolder } from '../terminal/files.js';
import { UsageError } from '../terminal/output.js';

interface SignOptions extends SigningOptions, AttachOptions {
  readonly dmg?: string;
  readonly version?: string;
  readonly url?: string;
  readonly minimumLicenseExpiry?: Date;
  /** The manifest is the first one: none is live. */
  readonly first?: true;
  /** By default the number after that of the live manifest. */
  readonly sequence?: number;
}

/**
 * `manifest sign`: signs a new version, or with --prepared and --attach completes a manifest that --prepare wrote. It needs no
 * database with --first, with a file or URL as --previous, or if PUBLIC_URL serves the live manifest.
 */
export async function sign(options: SignOptions, command: Command): Promise<void> {
  if (options.prepared !== undefined || options.attach) return attachSignatures(options, command);
  const { first, sequence } = options;
  const dmg = options.dmg ?? throwMissingOption('--dmg <file>');
  const version = options.version ?? throwMissingOption('--version <v>');
  const url = options.url ?? throwMissingOption('--url <url>');
  const context = await openSigningContext(options);
  const live = first ? null : await loadLiveManifest(options, context);
  // The disk image is read last, because reading it takes longest.
  const { isDiskImage, ...image } = await readImage(resolveFromCallerFolder(dmg), progressBar(basename(dmg)));
  const minimum = rfc3339OrNull(options.minimumLicenseExpiry ?? null);
  const entry = { version, dmg: { url, ...image }, minimum_license_expiry: minimum };
  const also_available = live ? alsoAvailable(minimum, live.content) : [];
  const versions = live ? PublishedVersions.of(live.content) : new PublishedVersions();
  const publishedState = { live, versions, isWithdrawal: false };
  const offer = { entry, also_available, sequence, isDiskImage };
  await makeManifest(offer, publishedState, context, options, command);
}

function throwMissingOption(option: string): never {
  throw new UsageError(`Required option '${option}' not specified.`);
}
