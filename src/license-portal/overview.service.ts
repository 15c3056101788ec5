import { Injectable } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import {
  findLicenses,
  type ActivationView,
  type LicenseQuery,
  type LicenseView,
} from '../activation/license-overview.js';
import { countSelfReleases } from '../releases/self-releases.js';
import { Clock, rfc3339OrNull } from '../core/clock.js';
import { Config } from '../core/config.js';
import { problem } from '../http/problems/problem.js';
import { purchasesKeptUntil } from '../erasure/erase.js';
import { waitingErasure, type WaitingErasure } from '../erasure/erasure.view.js';
import type { Holder } from './holder.js';

/** A binding as its holder sees it. */
interface HolderBinding extends ActivationView {
  /** Since when support is asked to release it; null where it is not. */
  readonly release_requested_at: string | null;
}

/** A license as its holder sees it; whose it is stands above. */
interface HolderLicense extends Omit<
  LicenseView,
  'email' | 'is_address_lost' | 'created_at' | 'activations'
> {
  readonly self_releases_left: number;
  readonly activations: HolderBinding[];
}

export interface Overview {
  readonly signed_in_by: 'key' | 'code';
  readonly email: string;
  readonly erasure: WaitingErasure | null;
  readonly purchases_kept_until: string | null;
  readonly licenses: HolderLicense[];
}

/** What a holder sees of his or her licenses, whatever their state. */
@Injectable()
export class HolderOverview {
  constructor(
    private readonly dataSource: DataSource,
    private readonly config: Config,
    private readonly clock: Clock,
  ) {}

  /**
   * Reads everything as of one moment at which the session holds: when a license gets another address meanwhile, no answer
   * shows its former holder what belongs to the next one.
   * @throws Problem `sign_in_required` where the session ended just now
   */
  async of(holder: Holder): Promise<Overview> {
    return this.dataSource.transaction('REPEATABLE READ', async (manager) => {
      const sql = 'select 1 from session where id = $1';
      const held = (await manager.query(sql, [holder.id])) as unknown[];
      if (held.length === 0) throw problem('sign_in_required');
      return this.read(manager, holder);
    });
  }

  private async read(manager: EntityManager, holder: Holder): Promise<Overview> {
    const byCode = holder.email !== null;
    const query: LicenseQuery = byCode ? { email: holder.email } : { id: holder.license_id! };
    const licenses = await findLicenses(manager, query, { forHolder: true });
    const email = byCode ? holder.email : licenses[0]?.email;
    if (!email) throw problem('sign_in_required');
    const { taxRetentionYears } = this.config;
    return {
      signed_in_by: byCode ? 'code' : 'key',
      email,
      erasure: await waitingErasure(manager, email),
      purchases_kept_until: byCode ? await purchasesKeptUntil(manager, email, taxRetentionYears) : null,
      licenses: await this.asHolderSees(manager, licenses),
    };
  }

  private async asHolderSees(manager: EntityManager, licenses: LicenseView[]): Promise<HolderLicense[]> {
    const ids = licenses.map(({ id }) => id);
    const released = await countSelfReleases(manager, ids, this.clock.now());
    const asked = await openRequests(manager, ids);
    return licenses.map((license) => ({
      id: license.id,
      key_hint: license.key_hint,
      status: license.status,
      expires_at: license.expires_at,
      on_expiry: license.on_expiry,
      machines_allowed: license.machines_allowed,
      machines_in_use: license.machines_in_use,
      self_releases_left: Math.max(0, this.config.selfReleasesPerYear - (released.get(license.id) ?? 0)),
      activations: license.activations.map((binding) => ({
        ...binding,
        release_requested_at: rfc3339OrNull(asked.get(binding.id) ?? null),
      })),
    }));
  }
}

async function openRequests(
  manager: EntityManager,
  licenseIds: readonly string[],
): Promise<Map<string, Date>> {
  const rows = (await manager.query(
    `select r.activation_id, r.asked_at from release_request r join activation a on a.id = r.activation_id
     where a.license_id = any($1) and a.ended_at is null and r.decided_at is null`,
    [licenseIds],
  )) as { activation_id: string; asked_at: Date }[];
  return new Map(rows.map(({ activation_id, asked_at }) => [activation_id, asked_at]));
}
