import { Injectable } from '@nestjs/common';
import { problem, type Problem } from '../http/problems/problem.js';
import { covers } from '../keys/manifests/signed-manifest.js';
import { ManifestService } from './manifest.service.js';

/** Whether a license covers the version a client reports (contract, version_not_covered). */
@Injectable()
export class Coverage {
  constructor(private readonly manifests: ManifestService) {}

  /** The refusal where the version was published with a minimum later than this expiry; undefined where it is covered. */
  async refusal(appVersion: string, licenseExpiry: Date | null): Promise<Problem | undefined> {
    if (this.covers(appVersion, licenseExpiry)) return undefined;
    // A refusal is only given from what the primary holds: the minimum may have been lowered a second ago.
    await this.manifests.refresh();
    if (!licenseExpiry || this.covers(appVersion, licenseExpiry)) return undefined;
    const { versions } = this.manifests;
    const newest = versions.newestCovered(licenseExpiry);
    return problem('version_not_covered', {
      minimum_license_expiry: versions.find(appVersion)?.minimum_license_expiry ?? null,
      newest_covered_version: newest?.version ?? null,
      download_url: newest?.dmg.url ?? null,
    });
  }

  /** Whether it is covered by what is in memory, which a refusal may never rest on. */
  covers(appVersion: string, licenseExpiry: Date | null): boolean {
    if (!licenseExpiry) return true;
    return covers(this.manifests.versions.find(appVersion)?.minimum_license_expiry ?? null, licenseExpiry);
  }
}
