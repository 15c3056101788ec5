import type { Command } from 'commander';
import { entryOf } from '../../keys/manifests/signed-manifest.js';
import { PublishedVersions } from '../../manifest/published-versions.js';
import { readWithdrawalTarget, readManifestFile, type FoundManifest } from './live-manifest.js';
import {
  makeManifest,
  loadLiveManifest,
  openSigningContext,
  verifyFound,
  type SigningOptions,
  type SigningContext,
} from './signing.js';
import { CommandError, printMessage } from '../terminal/output.js';

/** `manifest refresh`: signs the live version again with a later expiry. */
export async function refresh(options: SigningOptions, command: Command): Promise<void> {
  const context = await openSigningContext(options);
  const live = await loadLiveManifest(options, context);
  const { also_available, expires_at } = live.content;
  if (context.expires.getTime() <= Date.parse(expires_at))
    throw new CommandError(`The live manifest expires at ${expires_at}: --expires must be later.`);
  const publishedState = { live, versions: PublishedVersions.of(live.content), isWithdrawal: false };
  const offer = { entry: entryOf(live.content), also_available };
  await makeManifest(offer, publishedState, context, options, command);
}

/** `manifest withdraw`: signs the previous version again with a higher sequence number. */
export async function withdraw(
  options: SigningOptions & { readonly backTo?: string },
  command: Command,
): Promise<void> {
  const context = await openSigningContext(options);
  const live = await loadLiveManifest(options, context);
  const target = verifyFound(await findTarget(options.backTo, context), context);
  const offer = { entry: entryOf(target.content), also_available: target.content.also_available };
  // Only the versions in these two manifests are known here. The service checks the manifest again with all published ones.
  const versions = PublishedVersions.of(target.content);
  versions.add(live.content);
  const publishedState = { live, versions, isWithdrawal: true };
  await makeManifest(offer, publishedState, context, options, command);
  if (!options.dryRun)
    printMessage(`This manifest withdraws version ${live.content.version}: publish it with --withdraw.`);
}

/** Finds the manifest to which a withdrawal goes back. @param file the value of --back-to @throws CommandError if none is found */
async function findTarget(file: string | undefined, { config }: SigningContext): Promise<FoundManifest> {
  if (file !== undefined) return { document: await readManifestFile(file), from: file };
  const document = await readWithdrawalTarget(config);
  if (document !== null) return { document, from: 'the database' };
  throw new CommandError(
    'No version to go back to was found in a database. Give the manifest file of the previous version with --back-to.',
  );
}
