import { hash } from 'node:crypto';
import {
  canonicalVersion,
  compareVersions,
  covers,
  type ManifestContent,
  type ManifestEntry,
} from '../keys/signed-manifest.js';

/** A manifest that may not be published; one sentence for the publisher. */
export class PublishRefused extends Error {}

/** The published versions as a license is held against them: of each, the entry of its latest manifest. */
export class PublishedVersions {
  readonly #entries = new Map<string, ManifestEntry>();
  #live: ManifestEntry | undefined;

  /** In the order of their sequences. A version published again replaces its earlier entry. */
  add({ version, dmg, minimum_license_expiry }: ManifestContent): void {
    const entry = { version, dmg, minimum_license_expiry };
    this.#entries.set(canonicalVersion(version), entry);
    this.#live = entry;
  }

  /** The entry of exactly this version (`3.2` is `3.2.0`); one never published demands nothing. */
  find(version: string): ManifestEntry | undefined {
    return this.#entries.get(canonicalVersion(version));
  }

  /** The newest version that a license of this expiry may have, none above the live one. */
  newestCovered(licenseExpiry: Date | null): ManifestEntry | undefined {
    const live = this.#live;
    return [...this.#entries.values()]
      .filter((entry) => live && compareVersions(entry.version, live.version) <= 0)
      .filter((entry) => covers(entry.minimum_license_expiry, licenseExpiry))
      .toSorted((a, b) => compareVersions(b.version, a.version))[0];
  }
}

/** SHA-256 of a manifest's `signed`, in hex: how the next one names it as `previous`. */
export function manifestDigest(signed: string): string {
  return hash('sha256', signed, 'hex');
}

interface Live {
  readonly content: ManifestContent;
  readonly signed: string;
}

/**
 * Refuses a manifest that would harm someone: each line is a slip of a publisher (keys, Publisher's tools).
 * @param known what was published of the new one's version before, if anything
 * @throws PublishRefused
 */
export function refuseUnpublishable(
  next: ManifestContent,
  live: Live | null,
  known: ManifestEntry | undefined,
  product: string,
  now: Date,
): void {
  const refuse = (wrong: boolean, sentence: string) => {
    if (wrong) throw new PublishRefused(sentence);
  };
  refuse(
    next.product !== product,
    `This manifest is for the product ${next.product}; this server serves ${product}.`,
  );
  refuse(Date.parse(next.expires_at) <= now.getTime(), `This manifest expired at ${next.expires_at}.`);
  const urls = [next, ...next.also_available].map(({ dmg }) => dmg.url);
  refuse(!urls.every((url) => url.startsWith('https://')), 'Every url of a manifest must be https.');
  refuse(
    known !== undefined && !covers(next.minimum_license_expiry, expiryOf(known)),
    `Version ${next.version} is published already, and its minimum license expiry cannot be raised.`,
  );
  if (!live)
    return refuse(
      next.previous !== null,
      'No manifest is live, so previous must be null (sign with --first).',
    );
  const { content } = live;
  refuse(
    next.previous !== manifestDigest(live.signed),
    `Another manifest is live now (sequence ${content.sequence}, version ${content.version}): sign again on top of it.`,
  );
  refuse(
    next.sequence <= content.sequence,
    `The live manifest has sequence ${content.sequence}; this one has ${next.sequence} and must be above it.`,
  );
  const order = compareVersions(next.version, content.version);
  refuse(
    order < 0,
    `The live version is ${content.version}; this one is ${next.version} and must be above it.`,
  );
  refuse(
    order === 0 && next.dmg.sha256 !== content.dmg.sha256,
    `Version ${next.version} is live with another image: give the new image a new version.`,
  );
}

// The lowest expiry that has the known version: whoever has it must keep it. Null is everyone.
function expiryOf({ minimum_license_expiry }: ManifestEntry): Date {
  return new Date(minimum_license_expiry ?? -8.64e15);
}
