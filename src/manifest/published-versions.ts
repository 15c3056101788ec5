import {
  canonicalVersion,
  compareVersions,
  covers,
  entryOf,
  type ManifestContent,
  type ManifestEntry,
} from '../keys/manifests/signed-manifest.js';

/**
 * A published version, with the values of the latest manifest of this version. A version that was only listed in
 * `also_available` has the values of the first manifest that listed it.
 */
export interface PublishedVersion extends ManifestEntry {
  /** The sequence of the latest manifest of this version; 0 if it was only listed in `also_available`. */
  readonly sequence: number;
  /** Whether a later manifest had a lower version, and this version was not published again after that. */
  readonly isWithdrawn: boolean;
}

/** The published versions. Licenses and new manifests are checked against them. */
export class PublishedVersions {
  readonly #versions = new Map<string, PublishedVersion>();

  /** Creates the list with the versions of one manifest. */
  static of(content: ManifestContent): PublishedVersions {
    const versions = new PublishedVersions();
    versions.add(content);
    return versions;
  }

  /** Adds the next manifest, in the order of sequences. A version that is published again replaces its earlier entry. */
  add(content: ManifestContent): void {
    const { version, sequence, also_available } = content;
    for (const known of this.#versions.values()) {
      // A manifest with a lower version withdraws the higher versions, which are not offered until they are published again.
      if (compareVersions(known.version, version) > 0) this.#set({ ...known, isWithdrawn: true });
    }
    for (const older of also_available) {
      if (!this.find(older.version)) this.#set({ ...older, sequence: 0, isWithdrawn: false });
    }
    this.#set({ ...entryOf(content), sequence, isWithdrawn: false });
  }

  /** The entry of a version (`3.2` equals `3.2.0`); undefined if it was never published: then every license covers it. */
  find(version: string): PublishedVersion | undefined {
    return this.#versions.get(canonicalVersion(version));
  }

  /** Whether a higher version was published. If `version` is the live one, the higher version is withdrawn. */
  hasHigher(version: string): boolean {
    return [...this.#versions.values()].some((known) => compareVersions(known.version, version) > 0);
  }

  /**
   * The newest version that is not withdrawn and that the license covers; undefined if there is none.
   * @param licenseExpiry null for a license that never expires
   */
  newestCovered(licenseExpiry: Date | null): ManifestEntry | undefined {
    return this.#offeredVersions().find(({ minimum_license_expiry }) =>
      covers(minimum_license_expiry, licenseExpiry),
    );
  }

  /**
   * The version that becomes live if `live` is withdrawn: the newest lower one that was live before and is not withdrawn itself.
   */
  newestBelow(live: string): PublishedVersion | undefined {
    return this.#offeredVersions().find(
      (known) => known.sequence > 0 && compareVersions(known.version, live) < 0,
    );
  }

  #offeredVersions(): PublishedVersion[] {
    return [...this.#versions.values()]
      .filter(({ isWithdrawn }) => !isWithdrawn)
      .toSorted((a, b) => compareVersions(b.version, a.version));
  }

  #set(version: PublishedVersion): void {
    this.#versions.set(canonicalVersion(version.version), version);
  }
}
