import { hash } from 'node:crypto';
import { CLOCK_TOLERANCE_MS, rfc3339 } from '../core/clock.js';
import { isHttpsWithHost } from '../keys/manifests/manifest-content.js';
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

// The file is long, because the command line and the service refuse a manifest by the same rules.

/** The reason why a manifest may not be published, as one sentence for the publisher. */
export class PublishError extends Error {}

/** The SHA-256 of the member `signed` in hex, which is `previous` of the next manifest. */
export function manifestDigest(signed: string): string {
  return hash('sha256', signed, 'hex');
}

/** The live manifest: its content and its signed bytes. */
export interface LiveContent {
  readonly content: ManifestContent;
  readonly signed: string;
}

/** The largest step from the live sequence to the next one. The limit keeps a mistake from using up all sequence numbers. */
const MAX_SEQUENCE_STEP = 999_999_999;

/** The earliest time of a `Date`, in milliseconds. */
const EARLIEST_TIME_MS = -8.64e15;

/** The default validity of a manifest. It limits how long an attacker can send an old copy to clients. */
export const MANIFEST_VALIDITY_DAYS = 90;

/** The versions that a manifest offers, and its expiry. */
export interface ManifestOffer {
  readonly entry: ManifestEntry;
  readonly also_available: ManifestEntry[];
  readonly expires: Date;
}

/**
 * Returns the content of the manifest that follows the live one, or of the first manifest.
 * @param sequence by default 1 for the first manifest, and otherwise the one after the live manifest
 */
export function nextManifest(
  live: LiveContent | null,
  { entry, also_available, expires }: ManifestOffer,
  { product, now, sequence }: { product: string; now: Date; sequence?: number },
): ManifestContent {
  return {
    _type: MANIFEST_TYPE,
    product,
    sequence: sequence ?? (live ? live.content.sequence + 1 : 1),
    issued_at: rfc3339(now),
    expires_at: rfc3339(expires),
    ...entry,
    also_available,
    previous: live && manifestDigest(live.signed),
  };
}

/** The state that a manifest is checked against before it is published. */
export interface PublishContext {
  readonly live: LiveContent | null;
  /** The published versions: all of them on the server, or those in the manifests that the command line has read. */
  readonly versions: PublishedVersions;
  readonly product: string;
  readonly now: Date;
  /** Whether the publisher requested a withdrawal: a manifest that replaces the live version by a lower one. */
  readonly isWithdrawal: boolean;
  /** Whether exactly this manifest, with the same signatures, is live: it is published again, as after a lost answer. */
  readonly isRepeated?: boolean;
}

/**
 * Refuses a manifest that would harm clients or license holders (docs/keys.md#publishing).
 * @throws PublishError
 */
export function refuseUnpublishable(next: ManifestContent, context: PublishContext): void {
  const { live, versions, product, now, isWithdrawal } = context;
  refuseIf(
    next.product !== product,
    `This manifest is for the product ${next.product}; this server serves ${product}.`,
  );
  refuseIf(Date.parse(next.expires_at) <= now.getTime(), `This manifest expired at ${next.expires_at}.`);
  // The clock of the signing machine was ahead, so the expiry is probably too late by the same time, and an attacker could send
  // clients this manifest for longer.
  refuseIf(
    Date.parse(next.issued_at) > now.getTime() + CLOCK_TOLERANCE_MS,
    `This manifest was issued at ${next.issued_at}, which is in the future: correct the clock of the machine that signed it, and sign again.`,
  );
  const urls = [next, ...next.also_available].map(({ dmg }) => dmg.url);
  refuseIf(!urls.every(isHttpsWithHost), 'Every url of a manifest must begin with https:// and a host.');
  // The manifest is public.
  refuseIf(urls.some(hasCredentials), 'No url of a manifest may hold a user name or a password.');
  refuseIf(
    next.sequence > (live?.content.sequence ?? 0) + MAX_SEQUENCE_STEP,
    `The sequence ${next.sequence} is too high: clients accept no lower sequence afterwards.`,
  );
  // A repeated manifest is live already, so the other rules do not apply. A higher published version shows that it withdrew one,
  // and only then may it be published again as a withdrawal.
  if (context.isRepeated)
    return refuseIf(isWithdrawal && !versions.hasHigher(next.version), withdrawsNothing(next, live!.content));
  if (live) refuseWrongSuccessor(next, live, context);
  else refuseWrongFirst(next, isWithdrawal);
  const publishedVersion = versions.find(next.version);
  if (publishedVersion) refuseChangedVersion(next, publishedVersion);
  // Without a live manifest (a new server, or a lost database) the earlier published versions are unknown, so
  // `also_available` cannot be checked against them.
  if (!live) return;
  for (const older of next.also_available) refuseWrongOlderVersion(older, versions.find(older.version));
  if (!isWithdrawal) refuseMissingVersions(next, live.content);
}

/** Whether a URL has a user name or a password, also empty ones, which the clients refuse too. */
const hasCredentials = (url: string): boolean => /^https:\/\/[^/?#]*@/.test(url);

function refuseWrongFirst({ previous }: ManifestContent, isWithdrawal: boolean): void {
  refuseIf(previous !== null, 'No manifest is live, so previous must be null (sign with --first).');
  refuseIf(isWithdrawal, 'This manifest withdraws nothing: no manifest is live.');
}

/**
 * Refuses a manifest that is live already with other signatures, that does not follow the live one, or whose lower version was not
 * requested as a withdrawal; and a withdrawal to a version that is not lower, was never published or is withdrawn.
 */
function refuseWrongSuccessor(
  next: ManifestContent,
  { content: live, signed }: LiveContent,
  { versions, isWithdrawal }: PublishContext,
): void {
  const isLive = next.sequence === live.sequence && manifestBytes(next) === signed;
  refuseIf(
    isLive,
    'This manifest is already live with other signatures: sign the version again with manifest refresh.',
  );
  refuseIf(
    next.previous !== manifestDigest(signed),
    `Another manifest is live now (sequence ${live.sequence}, version ${live.version}): sign again on top of it.`,
  );
  refuseIf(
    next.sequence <= live.sequence,
    `The live manifest has sequence ${live.sequence}; this one has ${next.sequence} and must be above it.`,
  );
  const isLowerVersion = compareVersions(next.version, live.version) < 0;
  refuseIf(
    isLowerVersion && !isWithdrawal,
    `The live version is ${live.version}; this one is ${next.version} and must not be below it (unless it is published with --withdraw).`,
  );
  refuseIf(!isLowerVersion && isWithdrawal, withdrawsNothing(next, live));
  const target = versions.find(next.version);
  refuseIf(
    isLowerVersion && !target,
    `Version ${next.version} was never published, so it cannot be the target of a withdrawal.`,
  );
  refuseIf(isLowerVersion && target!.isWithdrawn, `Version ${next.version} is withdrawn.`);
}

const withdrawsNothing = (next: ManifestEntry, live: ManifestEntry) =>
  `This manifest withdraws nothing: the live version is ${live.version}, and this one is ${next.version}.`;

/** Refuses another image for a published version, and a higher minimum license expiry, which would take it from some licenses. */
function refuseChangedVersion(
  { version, dmg, minimum_license_expiry }: ManifestEntry,
  published: ManifestEntry,
): void {
  refuseIf(
    dmg.sha256 !== published.dmg.sha256,
    `Version ${version} is published with another image: give the new image a new version.`,
  );
  refuseIf(
    !covers(minimum_license_expiry, lowestExpiry(published)),
    `Version ${version} is published already, and its minimum license expiry cannot be raised.`,
  );
}

/** Refuses a version of `also_available` that was not published, was withdrawn, or has another image or minimum license expiry. */
function refuseWrongOlderVersion(older: ManifestEntry, published: PublishedVersion | undefined): void {
  const name = `Version ${older.version} of also_available`;
  if (!published) throw new PublishError(`${name} was never published.`);
  refuseIf(published.isWithdrawn, `${name} was withdrawn.`);
  refuseChangedVersion(older, published);
  // With a lower minimum here, clients would be offered a version for which their heartbeats are refused.
  const isLowered = !covers(published.minimum_license_expiry, lowestExpiry(older));
  refuseIf(isLowered, `${name} has another minimum license expiry than it was published with.`);
}

/** Refuses a manifest that lacks a live version for licenses that expire before its minimum license expiry. */
function refuseMissingVersions(next: ManifestContent, live: ManifestContent): void {
  const offered = new Set(next.also_available.map(({ version }) => canonicalVersion(version)));
  const required = alsoAvailable(next.minimum_license_expiry, live);
  const missing = required.find(({ version }) => !offered.has(canonicalVersion(version)));
  if (missing)
    throw new PublishError(
      `also_available lacks version ${missing.version}, for licenses that expire before the minimum: sign again.`,
    );
}

function refuseIf(isRefused: boolean, sentence: string): void {
  if (isRefused) throw new PublishError(sentence);
}

// The earliest license expiry that covers a version: without a minimum, the earliest time that a `Date` can have.
function lowestExpiry({ minimum_license_expiry }: ManifestEntry): Date {
  return new Date(minimum_license_expiry ?? EARLIEST_TIME_MS);
}
