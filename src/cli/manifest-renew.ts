import type { Command } from 'commander';
import { following } from '../manifest/manifest.rules.js';
import { PublishedVersions } from '../manifest/published-versions.js';
import { beforeLiveOfDatabase, readManifestFile, type Found } from './live-manifest.js';
import {
  checkNext,
  finish,
  liveManifest,
  openWorkshop,
  verified,
  type NextOptions,
  type Workshop,
} from './manifest-next.js';
import { Refused, say } from './terminal.js';

/** `manifest refresh`: the same version, good for longer. */
export async function refresh(options: NextOptions, command: Command): Promise<void> {
  checkNext(options);
  const workshop = await openWorkshop(options);
  const { config, now, expires } = workshop;
  const live = await liveManifest(options, workshop);
  const { version, dmg, minimum_license_expiry, also_available, expires_at } = live.content;
  if (expires.getTime() <= Date.parse(expires_at))
    throw new Refused(`The live manifest expires at ${expires_at}: --expires must be later than that.`);
  const entry = { version, dmg, minimum_license_expiry };
  const content = following(live, { entry, also_available, expires }, { product: config.product, now });
  const past = { live, versions: PublishedVersions.of(live.content), isWithdrawal: false };
  await finish(content, past, workshop, options, command);
}

/** `manifest withdraw`: a bad build is pulled by a higher sequence with the version before it. */
export async function withdraw(
  options: NextOptions & { readonly backTo?: string },
  command: Command,
): Promise<void> {
  checkNext(options);
  const workshop = await openWorkshop(options);
  const { config, now, expires } = workshop;
  const live = await liveManifest(options, workshop);
  const before = verified(await findBefore(options.backTo, workshop), workshop);
  const { version, dmg, minimum_license_expiry, also_available } = before.content;
  const entry = { version, dmg, minimum_license_expiry };
  const content = following(live, { entry, also_available, expires }, { product: config.product, now });
  const versions = PublishedVersions.of(before.content);
  versions.add(live.content);
  await finish(content, { live, versions, isWithdrawal: true }, workshop, options, command);
  if (!options.dryRun) say(`This takes back version ${live.content.version}: publish it with --withdraw.`);
}

async function findBefore(file: string | undefined, { config }: Workshop): Promise<Found> {
  if (file !== undefined) return { document: await readManifestFile(file), from: file };
  const document = await beforeLiveOfDatabase(config);
  if (document !== null) return { document, from: 'the database' };
  throw new Refused('No version before the live one is at hand: name its manifest with --back-to.');
}
