import { hash } from 'node:crypto';
import { rfc3339 } from '../core/clock.js';
import {
  alsoAvailable,
  canonicalVersion,
  compareVersions,
  covers,
  MANIFEST_TYPE,
  manifestBytes,
  type ManifestContent,
  type ManifestEntry,
} from '../keys/manifests/signed-manifest.js';
import type { PublishedVersion, PublishedVersions } from './published-versions.js';

/** A manifest that may not be published; one sentence for the publisher. */
export class PublishRefused extends Error {}

/** SHA-256 of a manifest's `signed`, in hex: how the next one names it as `previous`. */
export function manifestDigest(signed: string): string {
  return hash('sha256', signed, 'hex');
}

/** The manifest that is live: what it says, and its exact bytes. */
export interface Live {
  readonly content: ManifestContent;
  readonly signed: string;
}

/** So far may a sequence rise at once. Beyond the last number there is, nothing could be published any more. */
const MOST_SEQUENCES = 999_999_999;

/** How long a manifest is good where nothing else is said: an old copy cannot be replayed for ever. */
export const MANIFEST_DAYS = 90;

/** What a manifest offers, and until when. */
export interface Offer {
  readonly entry: ManifestEntry;
  readonly also_available: ManifestEntry[];
  readonly expires: Date;
}

/** The content of the manifest that follows the live one, or of the first: its place in the chain, and its offer. */
export function following(
  live: Live | null,
  { entry, also_available, expires }: Offer,
  { product, now, first = 1 }: { product: string; now: Date; first?: number },
): ManifestContent {
  return {
    _type: MANIFEST_TYPE,
    product,
    sequence: live ? live.content.sequence + 1 : first,
    issued_at: rfc3339(now),
    expires_at: rfc3339(expires),
    ...entry,
    also_available,
    previous: live && manifestDigest(live.signed),
  };
}

/** What a manifest to be published is held against. */
export interface Standing {
  readonly live: Live | null;
  /** Every version published so far, or as many as whoever asks can know of. */
  readonly versions: PublishedVersions;
  readonly product: string;
  readonly now: Date;
  /** Whether the publisher said that a version is to be taken back. */
  readonly isWithdrawal: boolean;
}

/**
 * Refuses a manifest that would harm someone: each line is a slip of a publisher (keys, Publisher's tools).
 * @throws PublishRefused
 */
export function refuseUnpublishable(next: ManifestContent, standing: Standing): void {
  const { live, versions, product, now, isWithdrawal } = standing;
  refuse(
    next.product !== product,
    `This manifest is for the product ${next.product}; this server serves ${product}.`,
  );
  refuse(Date.parse(next.expires_at) <= now.getTime(), `This manifest expired at ${next.expires_at}.`);
  const urls = [next, ...next.also_available].map(({ dmg }) => dmg.url);
  refuse(!urls.every((url) => url.startsWith('https://')), 'Every url of a manifest must be https.');
  // Everybody reads the manifest.
  refuse(urls.some(hasCredentials), 'No url of a manifest may hold a user name or a password.');
  refuse(
    next.sequence > (live?.content.sequence ?? 0) + MOST_SEQUENCES,
    `The sequence ${next.sequence} is too high: clients take nothing below the highest they have seen, for ever.`,
  );
  if (live) refuseOutOfTurn(next, live, standing);
  else refuseAsFirst(next, isWithdrawal);
  const known = versions.find(next.version);
  if (known) refuseChanged(next, known);
  // Nothing is known of what another server published before this one.
  if (!live) return;
  for (const older of next.also_available) refuseOlder(older, versions.find(older.version));
  if (!isWithdrawal) refuseForgotten(next, live.content);
}

function hasCredentials(url: string): boolean {
  const { username, password } = new URL(url);
  return username !== '' || password !== '';
}

function refuseAsFirst({ previous }: ManifestContent, isWithdrawal: boolean): void {
  refuse(previous !== null, 'No manifest is live, so previous must be null (sign with --first).');
  refuse(isWithdrawal, 'This manifest withdraws nothing: none is live.');
}

/** Two publishers at once, an older document, a version that goes down by mistake. */
function refuseOutOfTurn(
  next: ManifestContent,
  { content: live, signed }: Live,
  { versions, isWithdrawal }: Standing,
): void {
  const isLive = next.sequence === live.sequence && manifestBytes(next) === signed;
  refuse(isLive, 'This very manifest is live already: there is nothing to publish.');
  refuse(
    next.previous !== manifestDigest(signed),
    `Another manifest is live now (sequence ${live.sequence}, version ${live.version}): sign again on top of it.`,
  );
  refuse(
    next.sequence <= live.sequence,
    `The live manifest has sequence ${live.sequence}; this one has ${next.sequence} and must be above it.`,
  );
  const goesBack = compareVersions(next.version, live.version) < 0;
  refuse(
    goesBack && !isWithdrawal,
    `The live version is ${live.version}; this one is ${next.version} and must be above it (or be published with --withdraw).`,
  );
  refuse(
    !goesBack && isWithdrawal,
    `This manifest withdraws nothing: the live version is ${live.version}, and this one is ${next.version}.`,
  );
  const target = versions.find(next.version);
  refuse(goesBack && !target, `Version ${next.version} was never published, so nothing can go back to it.`);
  refuse(goesBack && target!.isWithdrawn, `Version ${next.version} was withdrawn itself.`);
}

/** Whoever has a published version keeps it: its image, and who may have it, stay what they were. */
function refuseChanged({ version, dmg, minimum_license_expiry }: ManifestEntry, known: ManifestEntry): void {
  refuse(
    dmg.sha256 !== known.dmg.sha256,
    `Version ${version} is published with another image: give the new image a new version.`,
  );
  refuse(
    !covers(minimum_license_expiry, expiryOf(known)),
    `Version ${version} is published already, and its minimum license expiry cannot be raised.`,
  );
}

/** What a lapsed license is offered must once have been the newest itself, still be good, and be for the same people. */
function refuseOlder(older: ManifestEntry, known: PublishedVersion | undefined): void {
  const name = `Version ${older.version} of also_available`;
  if (!known) throw new PublishRefused(`${name} was never published.`);
  refuse(known.isWithdrawn, `${name} was withdrawn.`);
  refuseChanged(older, known);
  // Lowered here alone, it would be offered to people whose heartbeats are then refused.
  const changed = !covers(known.minimum_license_expiry, expiryOf(older));
  refuse(changed, `${name} has another minimum license expiry than it was published with.`);
}

/** Whoever owns an older version of the live manifest is offered it by the next one too, or by a newer one. */
function refuseForgotten(next: ManifestContent, live: ManifestContent): void {
  const offered = new Set(next.also_available.map(({ version }) => canonicalVersion(version)));
  const owed = alsoAvailable(next.minimum_license_expiry, live);
  const forgotten = owed.find(({ version }) => !offered.has(canonicalVersion(version)));
  if (forgotten)
    throw new PublishRefused(
      `also_available lacks version ${forgotten.version}, which lapsed licenses own: sign again.`,
    );
}

function refuse(wrong: boolean, sentence: string): void {
  if (wrong) throw new PublishRefused(sentence);
}

// The lowest expiry that has the known version: whoever has it must keep it. Null is everyone.
function expiryOf({ minimum_license_expiry }: ManifestEntry): Date {
  return new Date(minimum_license_expiry ?? -8.64e15);
}
