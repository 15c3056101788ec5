import { Injectable } from '@nestjs/common';
import { problem, type Problem } from '../http/problems/problem.js';
import { covers } from '../keys/manifests/signed-manifest.js';
import { ManifestService } from './manifest.service.js';

/** Decides whether a license covers the version that a client reports (docs/contract.md#versions). */
@Injectable()
export class Coverage {
  constructor(private readonly manifests: ManifestService) {}

  /** Returns the refusal if the version requires a later license expiry; undefined if the license covers the version. */
  async refusal(appVersion: string, licenseExpiry: Date | null): Promise<Problem | undefined> {
    if (!licenseExpiry || this.covers(appVersion, licenseExpiry)) return undefined;
    // The manifests are read again before a refusal, because the required expiry may have been lowered since the last poll.
    await this.manifests.refresh();
    if (this.covers(appVersion, licenseExpiry)) return undefined;
    const { versions } = this.manifests;
    const newest = versions.newestCovered(licenseExpiry);
    return problem('version_not_covered', {
      minimum_license_expiry: versions.find(appVersion)?.minimum_license_expiry ?? null,
      newest_covered_version: newest?.version ?? null,
      download_url: newest?.dmg.url ?? null,
    });
  }

  /** Whether a license covers a version by the manifests in memory. To refuse, use `refusal`, which reads the manifests again. */
  covers(appVersion: string, licenseExpiry: Date | null): boolean {
    if (!licenseExpiry) return true;
    return covers(this.manifests.versions.find(appVersion)?.minimum_license_expiry ?? null, licenseExpiry);
  }
}
