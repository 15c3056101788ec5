import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import {
  ACTIVATION_COLUMNS,
  ACTIVATION_ORDER,
  toActivationView,
  LICENSE_COLUMNS,
  LICENSE_ORDER,
  countActive,
  toLicenseSummary,
  type LicenseRow,
} from '../activation/license-overview.js';
import type { Activation } from '../activation/activation.entity.js';
import { poolOf } from '../database/data-source.js';
import { anyOf, queryPrepared } from '../database/sql.js';
import { LicenseKeys } from '../keys/license-keys.js';
import { sinceCurrentHolder } from '../licenses/former-holder.js';
import type { License } from '../licenses/license.entity.js';
import { isKeyMailable } from '../licenses/mailable-key.js';
import { DECISION_REASON } from '../releases/release-decisions.js';
import { COUNT_SELF_RELEASES, selfReleaseWindowStart } from '../releases/self-releases.js';
import { Clock, rfc3339, rfc3339OrNull } from '../core/clock.js';
import { Config } from '../core/config.js';
import { readRetentionEndByEmail } from '../erasure/erase.js';
import type {
  HolderActivation,
  HolderLicense,
  HolderLicensesAnswer,
  WaitingErasure,
} from '../http/responses/api-types.js';
import type { Holder } from './holder.js';

interface HolderLicenseRow extends LicenseRow, Pick<License, 'key_hash' | 'key_generation'> {
  readonly self_releases: number;
  readonly erasure_id: string | null;
  readonly erasure_received_on: string;
  readonly erasure_runs_at: Date;
}

interface HolderActivationRow extends Activation {
  readonly requested_at: Date | null;
  readonly declined_at: Date | null;
  readonly decline_reason: string | null;
}

// $1 is the session, and $2, in `COUNT_SELF_RELEASES`, the start of its window. For a session without a license this reads one row,
// whose license id is null; for a session that has ended, none.
const selectLicenses = (condition: string) => `
  select ${LICENSE_COLUMNS}, l.key_hash, l.key_generation, (${COUNT_SELF_RELEASES}) as self_releases,
         e.id as erasure_id, e.received_on::text as erasure_received_on, e.runs_at as erasure_runs_at
  from session s left join license l on ${condition}
  left join erasure_request e on e.email = coalesce(l.email, s.email)
  where s.id = $1 order by ${LICENSE_ORDER}`;
const LICENSES_BY_EMAIL = {
  name: 'read licenses of an address',
  text: selectLicenses('l.email = s.email'),
};
const LICENSE_BY_KEY = { name: 'read license of a key', text: selectLicenses('l.id = s.license_id') };

// The address is compared again, because a license may have got another holder since it was read.
const ACTIVATIONS = {
  name: 'read activations of a holder',
  text: `
  select ${ACTIVATION_COLUMNS}, request.asked_at as requested_at, decline.decided_at as declined_at,
         decline.reason as decline_reason
  from activation a join license l on l.id = a.license_id
  left join release_request request
    on request.activation_id = a.id and request.decided_at is null and a.ended_at is null
  left join lateral (
    select r.decided_at, ${DECISION_REASON} as reason from release_request r
    where r.activation_id = a.id and r.decision = 'decline' and ${sinceCurrentHolder('r.asked_at')}
    order by r.decided_at desc limit 1) decline on a.ended_at is null
  where a.license_id = ${anyOf('$1::uuid[]')} and l.email = $2 and ${sinceCurrentHolder('a.ended_at')}
  order by ${ACTIVATION_ORDER}`,
};

/** Reads the licenses of a holder, in any state. */
@Injectable()
export class HolderOverviewService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly config: Config,
    private readonly clock: Clock,
    private readonly keys: LicenseKeys,
  ) {}

  /**
   * Reads what the portal shows to a holder. One statement reads the session and the licenses, so that a holder whose license
   * gets another address meanwhile does not see data of the new holder.
   * @returns null if the session has ended, or if its license no longer has an address
   */
  async read(holder: Holder): Promise<HolderLicensesAnswer | null> {
    const isSignedInByCode = holder.email !== null;
    const rows = await queryPrepared<HolderLicenseRow>(poolOf(this.dataSource), {
      ...(isSignedInByCode ? LICENSES_BY_EMAIL : LICENSE_BY_KEY),
      values: [holder.session_id, selfReleaseWindowStart(this.clock.now())],
    });
    const [first] = rows;
    const email = holder.email ?? first?.email;
    if (!first || !email) return null;
    return {
      signed_in_by: isSignedInByCode ? 'code' : 'key',
      email,
      erasure: waitingErasure(first),
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
    const rows = await queryPrepared<HolderActivationRow>(poolOf(this.dataSource), {
      ...ACTIVATIONS,
      values: [ids, email],
    });
    const byLicense = Map.groupBy(rows, ({ license_id }) => license_id);
    return licenses.map((license) => {
      const activations = byLicense.get(license.id) ?? [];
      const {
        email: _email,
        is_address_lost: _isLost,
        created_at: _createdAt,
        previous_key_hint: _previousKeyHint,
        ...facts
      } = toLicenseSummary(license, countActive(activations));
      return {
        ...facts,
        self_releases_left: Math.max(0, this.config.selfReleasesPerYear - license.self_releases),
        is_key_mailable: isKeyMailable(this.keys, license),
        activations: activations.map(holderActivation),
      };
    });
  }
}

function waitingErasure(row: HolderLicenseRow): WaitingErasure | null {
  if (row.erasure_id === null) return null;
  const { erasure_id: id, erasure_received_on: received_on, erasure_runs_at } = row;
  return { id, received_on, runs_at: rfc3339(erasure_runs_at) };
}

function holderActivation(row: HolderActivationRow): HolderActivation {
  const { requested_at, declined_at, decline_reason } = row;
  return {
    ...toActivationView(row),
    release_requested_at: rfc3339OrNull(requested_at),
    release_declined: declined_at && { declined_at: rfc3339(declined_at), reason: decline_reason },
  };
}
