import {
  canonicalVersion,
  compareVersions,
  covers,
  entryOf,
  type ManifestContent,
  type ManifestEntry,
} from '../keys/manifests/signed-manifest.js';

/** A version that was published. */
export interface PublishedVersion extends ManifestEntry {
  /** Of the latest manifest that offered it; 0 where it only ever stood under a later one. */
  readonly sequence: number;
  readonly isWithdrawn: boolean;
}

/** What was published of each version, by its latest manifest: what licenses and new manifests are held against. */
export class PublishedVersions {
  readonly #versions = new Map<string, PublishedVersion>();

  /** The versions that one manifest tells of. */
  static of(content: ManifestContent): PublishedVersions {
    const versions = new PublishedVersions();
    versions.add(content);
    return versions;
  }

  /** In the order of their sequences. A version published again replaces its earlier entry. */
  add(content: ManifestContent): void {
    const { version, sequence, also_available } = content;
    for (const known of this.#versions.values()) {
      // One below an earlier one takes it back: nobody is offered that any more, also once a higher one is live.
      if (compareVersions(known.version, version) > 0) this.#keep({ ...known, isWithdrawn: true });
    }
    for (const older of also_available) {
      if (!this.find(older.version)) this.#keep({ ...older, sequence: 0, isWithdrawn: false });
    }
    this.#keep({ ...entryOf(content), sequence, isWithdrawn: false });
  }

  /** Exactly this version (`3.2` is `3.2.0`); one never published demands nothing. */
  find(version: string): PublishedVersion | undefined {
    return this.#versions.get(canonicalVersion(version));
  }

  /** The newest version that a license of this expiry may have. */
  newestCovered(licenseExpiry: Date | null): ManifestEntry | undefined {
    return this.#offered().find(({ minimum_license_expiry }) =>
      covers(minimum_license_expiry, licenseExpiry),
    );
  }

  /** What a withdrawal of the live version goes back to: the newest one below it that was live itself. */
  before(live: string): PublishedVersion | undefined {
    return this.#offered().find((known) => known.sequence > 0 && compareVersions(known.version, live) < 0);
  }

  #offered(): PublishedVersion[] {
    return [...this.#versions.values()]
      .filter(({ isWithdrawn }) => !isWithdrawn)
      .toSorted((a, b) => compareVersions(b.version, a.version));
  }

  #keep(version: PublishedVersion): void {
    this.#versions.set(canonicalVersion(version.version), version);
  }
}
