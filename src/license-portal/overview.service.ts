import { Injectable } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import {
  findLicenses,
  type ActivationView,
  type LicenseQuery,
  type LicenseView,
} from '../activation/license-overview.js';
import { queryRows } from '../database/sql.js';
import { sinceCurrentHolder } from '../licenses/former-holder.js';
import { DECISION_REASON } from '../releases/release-decisions.js';
import { countSelfReleases } from '../releases/self-releases.js';
import { Clock, rfc3339, rfc3339OrNull } from '../core/clock.js';
import { Config } from '../core/config.js';
import { problem } from '../http/problems/problem.js';
import { readRetentionEndByEmail } from '../erasure/erase.js';
import { findWaitingErasure, type WaitingErasure } from '../erasure/erasure.view.js';
import type { Holder } from './holder.js';

/** An activation in the overview of its holder. */
interface HolderActivation extends ActivationView {
  /** When the holder requested its release from support; null without an open request. */
  readonly release_requested_at: string | null;
  /** The last decline of support, with the reason that staff gave; null if there is none. */
  readonly release_declined: { readonly declined_at: string; readonly reason: string | null } | null;
}

/** A license in the overview of its holder. */
interface HolderLicense extends Omit<
  LicenseView,
  'email' | 'is_address_lost' | 'created_at' | 'activations'
> {
  readonly self_releases_left: number;
  readonly activations: HolderActivation[];
}

export interface Overview {
  readonly signed_in_by: 'key' | 'code';
  readonly email: string;
  readonly erasure: WaitingErasure | null;
  readonly purchases_kept_until: string | null;
  readonly licenses: HolderLicense[];
}

/** Reads the licenses of a holder, in any state. */
@Injectable()
export class HolderOverviewService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly config: Config,
    private readonly clock: Clock,
  ) {}

  /**
   * Reads the session and the licenses in one snapshot, so that a holder whose license gets another address meanwhile does
   * not see data of the new holder.
   * @throws Problem `sign_in_required` if the session has ended
   */
  async read(holder: Holder): Promise<Overview> {
    return this.dataSource.transaction('REPEATABLE READ', async (manager) => {
      const sql = 'select 1 from session where id = $1';
      const sessions = await queryRows<unknown>(manager, sql, [holder.id]);
      if (sessions.length === 0) throw problem('sign_in_required');
      return this.readInTransaction(manager, holder);
    });
  }

  private async readInTransaction(manager: EntityManager, holder: Holder): Promise<Overview> {
    const isSignedInByCode = holder.email !== null;
    const query: LicenseQuery = isSignedInByCode ? { email: holder.email } : { id: holder.license_id! };
    const licenses = await findLicenses(manager, query, { isForHolder: true });
    const email = isSignedInByCode ? holder.email : licenses[0]?.email;
    if (!email) throw problem('sign_in_required');
    const { taxRetentionYears } = this.config;
    return {
      signed_in_by: isSignedInByCode ? 'code' : 'key',
      email,
      erasure: await findWaitingErasure(manager, email),
      purchases_kept_until: isSignedInByCode
        ? await readRetentionEndByEmail(manager, email, taxRetentionYears)
        : null,
      licenses: await this.toHolderLicenses(manager, licenses),
    };
  }

  private async toHolderLicenses(manager: EntityManager, licenses: LicenseView[]): Promise<HolderLicense[]> {
    const ids = licenses.map(({ id }) => id);
    const selfReleaseCounts = await countSelfReleases(manager, ids, this.clock.now());
    const requestedAt = await readOpenReleaseRequests(manager, ids);
    const declines = await readLastDeclines(manager, ids);
    return licenses.map((license) => ({
      id: license.id,
      key_hint: license.key_hint,
      status: license.status,
      expires_at: license.expires_at,
      on_expiry: license.on_expiry,
      machines_allowed: license.machines_allowed,
      machines_in_use: license.machines_in_use,
      self_releases_left: Math.max(
        0,
        this.config.selfReleasesPerYear - (selfReleaseCounts.get(license.id) ?? 0),
      ),
      activations: license.activations.map((activation) => ({
        ...activation,
        release_requested_at: rfc3339OrNull(requestedAt.get(activation.id) ?? null),
        release_declined: declines.get(activation.id) ?? null,
      })),
    }));
  }
}

/** Reads when the open release requests were made. @returns the times by activation id */
async function readOpenReleaseRequests(
  manager: EntityManager,
  licenseIds: readonly string[],
): Promise<Map<string, Date>> {
  const rows = await queryRows<{ activation_id: string; asked_at: Date }>(
    manager,
    `select r.activation_id, r.asked_at from release_request r join activation a on a.id = r.activation_id
     where a.license_id = any($1) and a.ended_at is null and r.decided_at is null`,
    [licenseIds],
  );
  return new Map(rows.map(({ activation_id, asked_at }) => [activation_id, asked_at]));
}

/** Reads the last declined release request of each active machine, with the reason of staff. @returns it by activation id */
async function readLastDeclines(
  manager: EntityManager,
  licenseIds: readonly string[],
): Promise<Map<string, NonNullable<HolderActivation['release_declined']>>> {
  const rows = await queryRows<{ activation_id: string; decided_at: Date; reason: string | null }>(
    manager,
    `select distinct on (r.activation_id) r.activation_id, r.decided_at, ${DECISION_REASON} as reason
     from release_request r join activation a on a.id = r.activation_id join license l on l.id = a.license_id
     where a.license_id = any($1) and a.ended_at is null and r.decision = 'decline'
       and ${sinceCurrentHolder('r.asked_at')}
     order by r.activation_id, r.decided_at desc`,
    [licenseIds],
  );
  return new Map(
    rows.map(({ activation_id, decided_at, reason }) => [
      activation_id,
      { declined_at: rfc3339(decided_at), reason },
    ]),
  );
}
