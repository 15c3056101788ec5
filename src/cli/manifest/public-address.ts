import type { KeyObject } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import {
  findDifferingUnsignedMember,
  ManifestError,
  readDocument,
  verifyManifest,
} from '../../keys/manifests/signed-manifest.js';
import { CommandError } from '../terminal/output.js';
import { fetchManifest } from './live-manifest.js';

const POLL_INTERVAL_MS = 250;

/** The published manifest, and how long the public address may take to serve it. */
interface Published {
  readonly url: string;
  readonly signed: string;
  readonly sequence: number;
  readonly trusted: ReadonlyMap<string, KeyObject>;
  readonly waitSeconds: number;
}

/**
 * Verifies what a client receives from the public address, and waits while it still serves an earlier manifest.
 * @returns a sentence about what is wrong; null if all is right
 */
export async function checkPublicAddress(published: Published): Promise<string | null> {
  const { url, waitSeconds } = published;
  for (const deadline = Date.now() + waitSeconds * 1000; ; await wait(POLL_INTERVAL_MS)) {
    try {
      const instead = await readServed(published);
      if (instead === null) return null;
      if (Date.now() < deadline) continue;
      return `${url} still serves ${instead} after ${waitSeconds} seconds. A cache may keep that for 5 minutes: purge it, or wait; then check with mooring manifest verify ${url}.`;
    } catch (error) {
      // The address does not answer, answers with an error, or serves something wrong. The command does not wait for this to
      // change, because the manifest is published nevertheless.
      if (error instanceof CommandError) return error.message;
      if (error instanceof ManifestError)
        return `${url} serves a manifest that clients refuse: ${error.message}`;
      throw error;
    }
  }
}

/**
 * Reads what the address serves in place of the published manifest.
 * @returns null if it serves the published manifest or a later one
 * @throws CommandError if it does not answer, or serves something wrong @throws ManifestError if clients refuse what it serves
 */
async function readServed({ url, signed, sequence, trusted }: Published): Promise<string | null> {
  const document = await fetchManifest(url);
  if (document === null) return 'no manifest';
  const served = verifyManifest(document, trusted);
  const member = findDifferingUnsignedMember(document, served);
  if (member !== null)
    throw new CommandError(
      `${url} serves a manifest whose unsigned copy of ${member} differs from the signed value.`,
    );
  if (served.sequence === sequence && readDocument(document).signed !== signed)
    throw new CommandError(
      `${url} serves another manifest of the same sequence, which was not published here.`,
    );
  // Another publisher may have published a later manifest since.
  return served.sequence >= sequence ? null : `the manifest of sequence ${served.sequence}`;
}
