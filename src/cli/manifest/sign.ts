import { basename } from 'node:path';
import type { Command } from 'commander';
import { rfc3339OrNull } from '../../core/clock.js';
import { alsoAvailable } from '../../keys/manifests/signed-manifest.js';
import { PublishedVersions } from '../../manifest/published-versions.js';
import { readImage } from './image.js';
import { attach, type AttachOptions } from './attach.js';
import { checkNext, finish, liveManifest, openSigningContext, type NextOptions } from './next.js';
import { progressBar } from '../terminal/progress-bar.js';
import { callersPath, UsageError } from '../terminal/output.js';

export interface SignOptions extends NextOptions, AttachOptions {
  readonly dmg?: string;
  readonly version?: string;
  readonly url?: string;
  readonly minimumLicenseExpiry?: Date;
  readonly first?: true;
  readonly sequence?: number;
}

/** `manifest sign`: needs no server and no database where the live manifest is named. */
export async function sign(options: SignOptions, command: Command): Promise<void> {
  if (options.prepared !== undefined || options.attach) return attach(options, command);
  const { first, sequence } = options;
  const dmg = options.dmg ?? missing('--dmg <file>');
  const version = options.version ?? missing('--version <v>');
  const url = options.url ?? missing('--url <url>');
  if (sequence !== undefined && !first) throw new UsageError('--sequence stands with --first alone.');
  checkNext(options);
  const workshop = await openSigningContext(options);
  const live = first ? null : await liveManifest(options, workshop);
  // Last, since it takes a while.
  const image = await readImage(callersPath(dmg), progressBar(basename(dmg)));
  const minimum = rfc3339OrNull(options.minimumLicenseExpiry ?? null);
  const entry = { version, dmg: { url, ...image }, minimum_license_expiry: minimum };
  const also_available = live ? alsoAvailable(minimum, live.content) : [];
  const versions = live ? PublishedVersions.of(live.content) : new PublishedVersions();
  const past = { live, versions, isWithdrawal: false };
  await finish({ entry, also_available, first: sequence }, past, workshop, options, command);
}

function missing(option: string): never {
  throw new UsageError(`Required option '${option}' not specified.`);
}
