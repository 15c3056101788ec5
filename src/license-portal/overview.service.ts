import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import {
  ACTIVATION_COLUMNS,
  ACTIVATION_ORDER,
  activationView,
  LICENSE_COLUMNS,
  LICENSE_ORDER,
  licenseFactsView,
  type ActivationView,
  type LicenseRow,
  type LicenseView,
} from '../activation/license-overview.js';
import type { Activation } from '../activation/activation.entity.js';
import { queryRows } from '../database/sql.js';
import { sinceCurrentHolder } from '../licenses/former-holder.js';
import { DECISION_REASON } from '../releases/release-decisions.js';
import { countSelfReleasesSql, selfReleaseWindowStart } from '../releases/self-releases.js';
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

interface HolderLicenseRow extends LicenseRow {
  readonly self_releases: number;
}

interface HolderActivationRow extends Activation {
  readonly requested_at: Date | null;
  readonly declined_at: Date | null;
  readonly decline_reason: string | null;
}

// Without a license there is one row, whose id is null; without the session there is none.
const selectLicenses = (condition: string) => `
  select ${LICENSE_COLUMNS}, (${countSelfReleasesSql('$3')}) as self_releases
  from session s left join license l on ${condition} = $2
  where s.id = $1 order by ${LICENSE_ORDER}`;
const SELECT_LICENSES_BY_EMAIL = selectLicenses('l.email');
const SELECT_LICENSE_BY_ID = selectLicenses('l.id');

// The address is compared again, because a license may have got another holder since it was read.
const SELECT_ACTIVATIONS = `
  select ${ACTIVATION_COLUMNS}, request.asked_at as requested_at, decline.decided_at as declined_at,
         decline.reason as decline_reason
  from activation a join license l on l.id = a.license_id
  left join release_request request
    on request.activation_id = a.id and request.decided_at is null and a.ended_at is null
  left join lateral (
    select r.decided_at, ${DECISION_REASON} as reason from release_request r
    where r.activation_id = a.id and r.decision = 'decline' and ${sinceCurrentHolder('r.asked_at')}
    order by r.decided_at desc limit 1) decline on a.ended_at is null
  where a.license_id = any($1) and l.email = $2 and ${sinceCurrentHolder('a.ended_at')}
  order by ${ACTIVATION_ORDER}`;

/** Reads the licenses of a holder, in any state. */
@Injectable()
export class HolderOverviewService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly config: Config,
    private readonly clock: Clock,
  ) {}

  /**
   * The session and the licenses are read by one statement, so that a holder whose license gets another address meanwhile
   * does not see data of the new holder.
   * @throws Problem `sign_in_required` if the session has ended
   */
  async read(holder: Holder): Promise<Overview> {
    const isSignedInByCode = holder.email !== null;
    const rows = await queryRows<HolderLicenseRow>(
      this.dataSource,
      isSignedInByCode ? SELECT_LICENSES_BY_EMAIL : SELECT_LICENSE_BY_ID,
      [holder.id, holder.email ?? holder.license_id, selfReleaseWindowStart(this.clock.now())],
    );
    const email = holder.email ?? rows[0]?.email;
    if (rows.length === 0 || !email) throw problem('sign_in_required');
    return {
      signed_in_by: isSignedInByCode ? 'code' : 'key',
      email,
      erasure: await findWaitingErasure(this.dataSource, email),
      purchases_kept_until: isSignedInByCode
        ? await readRetentionEndByEmail(this.dataSource, email, this.config.taxRetentionYears)
        : null,
      licenses: await this.toHolderLicenses(
        rows.filter(({ id }) => id !== null),
        email,
      ),
    };
  }

  private async toHolderLicenses(
    licenses: readonly HolderLicenseRow[],
    email: string,
  ): Promise<HolderLicense[]> {
    const ids = licenses.map(({ id }) => id);
    const rows = await queryRows<HolderActivationRow>(this.dataSource, SELECT_ACTIVATIONS, [ids, email]);
    const byLicense = Map.groupBy(rows, ({ license_id }) => license_id);
    return licenses.map((license) => {
      const activations = byLicense.get(license.id) ?? [];
      const {
        email: _email,
        is_address_lost: _isLost,
        created_at: _createdAt,
        ...facts
      } = licenseFactsView(license, activations);
      return {
        ...facts,
        self_releases_left: Math.max(0, this.config.selfReleasesPerYear - license.self_releases),
        activations: activations.map(holderActivation),
      };
    });
  }
}

function holderActivation(row: HolderActivationRow): HolderActivation {
  const { requested_at, declined_at, decline_reason } = row;
  return {
    ...activationView(row),
    release_requested_at: rfc3339OrNull(requested_at),
    release_declined: declined_at && { declined_at: rfc3339(declined_at), reason: decline_reason },
  };
}
