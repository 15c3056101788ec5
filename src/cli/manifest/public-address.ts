import type { KeyObject } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import {
  findDifferingUnsignedMember,
  ManifestError,
  parseSigned,
  readDocument,
  verifyManifest,
  type ManifestContent,
} from '../../keys/manifests/signed-manifest.js';
import { manifestDigest } from '../../manifest/manifest.rules.js';
import { CommandError } from '../terminal/output.js';
import { fetchManifest } from './live-manifest.js';

const POLL_INTERVAL_MS = 250;

/** The published manifest, and how long the public address may take to serve it. */
interface Published {
  readonly url: string;
  readonly signed: string;
  readonly content: ManifestContent;
  readonly trusted: ReadonlyMap<string, KeyObject>;
  readonly waitSeconds: number;
}

/**
 * Verifies what a client receives from the public address. It waits while the address serves no manifest, the previous one, or a
 * valid one with another sequence. Everything else is reported at once.
 * @returns a sentence about what is wrong; null if all is right
 */
export async function checkPublicAddress(published: Published): Promise<string | null> {
  const { url, waitSeconds } = published;
  for (const deadline = Date.now() + waitSeconds * 1000; ; await wait(POLL_INTERVAL_MS)) {
    try {
      const fault = await readServed(published);
      if (fault === null) return null;
      if (Date.now() >= deadline) return `${url} ${fault}`;
    } catch (error) {
      // The address does not answer, answers with an error, or serves something wrong. The command reports this at once, because
      // waiting would not correct it and the manifest is already published.
      if (error instanceof CommandError) return error.message;
      if (error instanceof ManifestError)
        return `${url} serves a manifest that clients refuse: ${error.message}`;
      throw error;
    }
  }
}

/**
 * Compares what the address serves with the published manifest.
 * @returns null if it serves that manifest, otherwise the end of a sentence about the address
 * @throws CommandError if it does not answer, or serves something wrong @throws ManifestError if clients refuse what it serves
 */
async function readServed(published: Published): Promise<string | null> {
  const { url, trusted, content } = published;
  const document = await fetchManifest(url);
  if (document === null) return stillServes('no manifest', published);
  const { signed } = readDocument(document);
  // The previous manifest is not verified: the key that signed it may have leaked, and is then no longer trusted.
  const isPrevious = manifestDigest(signed) === content.previous;
  const { sequence } = isPrevious ? parseSigned(signed) : verifyServed(document, url, trusted);
  if (sequence > content.sequence)
    return `serves the manifest of sequence ${sequence}, above ${content.sequence}. Another publisher has published since, this address serves another installation, or a cache still has a manifest of a database that was lost. Clients that have seen sequence ${sequence} refuse a lower one.`;
  if (sequence < content.sequence) return stillServes(`the manifest of sequence ${sequence}`, published);
  if (signed === published.signed) return null;
  throw new CommandError(
    `${url} serves another manifest of the same sequence, which was not published here.`,
  );
}

const stillServes = (what: string, { url, waitSeconds }: Published) =>
  `still serves ${what} after ${waitSeconds} ${waitSeconds === 1 ? 'second' : 'seconds'}. A cache may keep that for 5 minutes: purge it, or wait; then check with mooring manifest verify ${url}.`;

/** @throws CommandError if an unsigned copy differs from the signed value @throws ManifestError if clients refuse the manifest */
function verifyServed(document: unknown, url: string, trusted: Published['trusted']): ManifestContent {
  const served = verifyManifest(document, trusted);
  const member = findDifferingUnsignedMember(document, served);
  if (member === null) return served;
  throw new CommandError(
    `${url} serves a manifest whose unsigned copy of ${member} differs from the signed value.`,
  );
}
