import type { KeyObject } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import { trustedManifestKeys } from '../keys/key-material.js';
import { readDocument, verifyManifest } from '../keys/signed-manifest.js';
import { manifestsOf, withDatabase } from './database.js';
import { fetchManifest, readManifestFile } from './live-manifest.js';
import { contentRows } from './manifest-text.js';
import { actOf, aligned, print, say } from './terminal.js';

/** Every instance serves what was published within 5 seconds (contract, manifest); a second more for the network. */
const SERVED_WITHIN_MS = 6_000;
const LOOK_MS = 250;

/** `manifest publish`: then verifies what clients will get, as far as the public address answers. */
export async function publish(file: string, _options: unknown, command: Command): Promise<void> {
  const document = await readManifestFile(file);
  const { content, served, url } = await withDatabase(async (ground) => {
    const trusted = await trustedManifestKeys(ground.config);
    const manifests = await manifestsOf(ground, trusted);
    const content = await manifests.publish(document, actOf(command));
    const url = `${ground.config.publicUrl}/v1/manifest`;
    // Within: a server of ours may use the database that we hold open.
    return { content, url, served: await isServed(url, readDocument(document).signed, trusted) };
  });
  say(served ? `${url} serves it.` : `It is published; ${url} does not serve it yet.`);
  const { version, sequence, minimum_license_expiry, expires_at } = content;
  const live = { version, sequence, minimum_license_expiry, expires_at, served };
  print(command, live, aligned([['Live now', `version ${version}`], ...contentRows(content)]));
}

async function isServed(
  url: string,
  signed: string,
  trusted: ReadonlyMap<string, KeyObject>,
): Promise<boolean> {
  for (const deadline = Date.now() + SERVED_WITHIN_MS; Date.now() < deadline; await wait(LOOK_MS)) {
    try {
      const document = await fetchManifest(url);
      if (document === null) continue;
      verifyManifest(document, trusted);
      if (readDocument(document).signed === signed) return true;
    } catch {
      // Nobody there, or a service of other keys: waiting would not help. It is published all the same.
      return false;
    }
  }
  return false;
}
