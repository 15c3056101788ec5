import type { Command } from 'commander';
import { entryOf } from '../../keys/manifests/signed-manifest.js';
import { PublishedVersions } from '../../manifest/published-versions.js';
import { beforeLiveOfDatabase, readManifestFile, type Found } from './live-manifest.js';
import {
  checkNext,
  finish,
  liveManifest,
  openSigningContext,
  verified,
  type NextOptions,
  type SigningContext,
} from './next.js';
import { Refused, printMessage } from '../terminal/output.js';

/** `manifest refresh`: the same version, good for longer. */
export async function refresh(options: NextOptions, command: Command): Promise<void> {
  checkNext(options);
  const workshop = await openSigningContext(options);
  const live = await liveManifest(options, workshop);
  const { also_available, expires_at } = live.content;
  if (workshop.expires.getTime() <= Date.parse(expires_at))
    throw new Refused(`The live manifest expires at ${expires_at}: --expires must be later than that.`);
  const past = { live, versions: PublishedVersions.of(live.content), isWithdrawal: false };
  await finish({ entry: entryOf(live.content), also_available }, past, workshop, options, command);
}

/** `manifest withdraw`: a bad build is pulled by a higher sequence with the version before it. */
export async function withdraw(
  options: NextOptions & { readonly backTo?: string },
  command: Command,
): Promise<void> {
  checkNext(options);
  const workshop = await openSigningContext(options);
  const live = await liveManifest(options, workshop);
  const before = verified(await findBefore(options.backTo, workshop), workshop);
  const { also_available } = before.content;
  const versions = PublishedVersions.of(before.content);
  versions.add(live.content);
  const past = { live, versions, isWithdrawal: true };
  await finish({ entry: entryOf(before.content), also_available }, past, workshop, options, command);
  if (!options.dryRun)
    printMessage(`This takes back version ${live.content.version}: publish it with --withdraw.`);
}

async function findBefore(file: string | undefined, { config }: SigningContext): Promise<Found> {
  if (file !== undefined) return { document: await readManifestFile(file), from: file };
  const document = await beforeLiveOfDatabase(config);
  if (document !== null) return { document, from: 'the database' };
  throw new Refused('No version before the live one is at hand: name its manifest with --back-to.');
}
