import type { KeyObject } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import { trustedManifestKeys } from '../../keys/key-material.js';
import {
  ManifestError,
  outerMatches,
  readDocument,
  verifyManifest,
} from '../../keys/manifests/signed-manifest.js';
import { fetchManifest, readManifestFile } from './live-manifest.js';
import { contentRows, differences, differenceText } from './manifest-text.js';
import { actOf, aligned, print, Refused, printMessage } from '../terminal/output.js';

/** Every instance serves what was published within 5 seconds (docs/contract.md#update-manifest); a second more for the network. */
const SERVED_WITHIN_MS = 6_000;
const LOOK_MS = 250;

interface PublishOptions {
  readonly withdraw?: true;
  readonly dryRun?: true;
}

/** `manifest publish`: then fetches the public address and verifies what clients will get. */
export async function publish(file: string, options: PublishOptions, command: Command): Promise<void> {
  const document = await readManifestFile(file);
  const { manifestsOf, withDatabase } = await import('../database.js');
  await withDatabase(async (ground) => {
    const trusted = await trustedManifestKeys(ground.config);
    const manifests = await manifestsOf(ground, trusted);
    const before = manifests.live?.content ?? null;
    if (options.dryRun) {
      const next = await manifests.checkPublishable(document, options.withdraw);
      const changes = differences(before, next);
      return print(command, { live: before, next, changes }, differenceText(changes));
    }
    const content = await manifests.publish(document, actOf(command), options.withdraw);
    if (options.withdraw)
      printMessage(
        `What was above version ${content.version} is taken back: nobody is offered it any more. Who runs it keeps it, until a version above it is published.`,
      );
    const url = `${ground.config.publicUrl}/v1/manifest`;
    // Within: a server of ours may use the database that we hold open.
    const amiss = await lookAtPublic(url, readDocument(document).signed, content.sequence, trusted);
    printMessage(amiss === null ? `${url} serves it.` : `It is published, but ${amiss}`);
    const { version, sequence, minimum_license_expiry, expires_at } = content;
    const live = { version, sequence, minimum_license_expiry, expires_at, served: amiss === null };
    print(command, live, aligned([['Live now', `version ${version}`], ...contentRows(content)]));
  });
}

/** Verifies what a client would get from the public address. @returns null, or what is amiss with it: a sentence */
async function lookAtPublic(
  url: string,
  signed: string,
  sequence: number,
  trusted: ReadonlyMap<string, KeyObject>,
): Promise<string | null> {
  for (const deadline = Date.now() + SERVED_WITHIN_MS; ; await wait(LOOK_MS)) {
    try {
      const document = await fetchManifest(url);
      const served = document === null ? null : verifyManifest(document, trusted);
      if (served && outerMatches(document, served) !== null)
        return `${url} serves it with other outer fields.`;
      // A second publisher may have been quicker than our look.
      if (served && served.sequence > sequence) return null;
      if (served?.sequence === sequence)
        return readDocument(document).signed === signed
          ? null
          : `${url} serves another manifest of the same sequence: it is not this server's.`;
      const old = served ? `the manifest of sequence ${served.sequence}` : 'none';
      // A cache in front of us may keep the one before for as long as we allow it.
      if (Date.now() >= deadline) return `${url} serves ${old}; a cache may keep that for 5 minutes.`;
    } catch (error) {
      // Nobody there, or a service of other keys: waiting would not help. It is published all the same.
      if (error instanceof Refused) return error.message;
      if (error instanceof ManifestError) return `${url} serves what clients refuse: ${error.message}`;
      throw error;
    }
  }
}
