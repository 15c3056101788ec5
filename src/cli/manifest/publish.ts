import type { KeyObject } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import { trustedManifestKeys } from '../../keys/key-material.js';
import {
  ManifestError,
  findDifferingUnsignedMember,
  readDocument,
  verifyManifest,
} from '../../keys/manifests/signed-manifest.js';
import { fetchManifest, readManifestFile } from './live-manifest.js';
import { contentRows, differences, differenceText } from './manifest-text.js';
import { auditContextOf, aligned, print, CommandError, printMessage } from '../terminal/output.js';

/** The wait for the published manifest: each instance serves it within 5 seconds (docs/contract.md#update-manifest). */
const SERVED_TIMEOUT_MS = 6_000;
const POLL_INTERVAL_MS = 250;

interface PublishOptions {
  readonly withdraw?: true;
  readonly dryRun?: true;
}

/** `manifest publish`: publishes a manifest, then fetches the public address and verifies what clients receive. */
export async function publish(file: string, options: PublishOptions, command: Command): Promise<void> {
  const document = await readManifestFile(file);
  const { loadManifestService, withDatabase } = await import('../context/command-context.js');
  await withDatabase(async (context) => {
    const trusted = await trustedManifestKeys(context.config);
    const manifests = await loadManifestService(context, trusted);
    const liveContent = manifests.live?.content ?? null;
    if (options.dryRun) {
      const next = await manifests.checkPublishable(document, options.withdraw);
      const changes = differences(liveContent, next);
      return print(command, { live: liveContent, next, changes }, differenceText(changes));
    }
    const content = await manifests.publish(document, auditContextOf(command), options.withdraw);
    if (options.withdraw)
      printMessage(
        `Versions above ${content.version} are withdrawn: they are not offered any more. Installed copies stay until a higher version is published.`,
      );
    const url = `${context.config.publicUrl}/v1/manifest`;
    // The address is checked before the embedded database is closed, because the service at that address may use this database.
    const fault = await checkPublicAddress(url, readDocument(document).signed, content.sequence, trusted);
    printMessage(
      fault === null ? `${url} serves the published manifest.` : `The manifest is published, but ${fault}`,
    );
    const { version, sequence, minimum_license_expiry, expires_at } = content;
    const live = { version, sequence, minimum_license_expiry, expires_at, served: fault === null };
    print(command, live, aligned([['Live now', `version ${version}`], ...contentRows(content)]));
  });
}

/** Verifies what a client receives from the public address. @returns a sentence about what is wrong; null if all is right */
async function checkPublicAddress(
  url: string,
  signed: string,
  sequence: number,
  trusted: ReadonlyMap<string, KeyObject>,
): Promise<string | null> {
  for (const deadline = Date.now() + SERVED_TIMEOUT_MS; ; await wait(POLL_INTERVAL_MS)) {
    try {
      const document = await fetchManifest(url);
      const served = document === null ? null : verifyManifest(document, trusted);
      if (served && findDifferingUnsignedMember(document, served) !== null)
        return `${url} serves the manifest with changed unsigned copies.`;
      // Another publisher may have published a later manifest since.
      if (served && served.sequence > sequence) return null;
      if (served?.sequence === sequence)
        return readDocument(document).signed === signed
          ? null
          : `${url} serves another manifest of the same sequence, which this database did not publish.`;
      const servedInstead = served ? `the manifest of sequence ${served.sequence}` : 'none';
      // A cache in front of the service may keep the previous response for 5 minutes.
      if (Date.now() >= deadline)
        return `${url} serves ${servedInstead}; a cache may keep that for 5 minutes.`;
    } catch (error) {
      // The address does not answer, answers with an error, or serves a manifest of other keys. The command does not
      // wait for this to change, because the manifest is published nevertheless.
      if (error instanceof CommandError) return error.message;
      if (error instanceof ManifestError)
        return `${url} serves a manifest that clients refuse: ${error.message}`;
      throw error;
    }
  }
}
