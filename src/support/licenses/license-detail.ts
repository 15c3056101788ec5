import { DataSource } from 'typeorm';
import { validate as isUuid } from 'uuid';
import {
  LICENSE_COLUMNS,
  withActivations,
  type LicenseRow,
  type LicenseView,
} from '../../activation/license-overview.js';
import { timesAsText, type TimesAsText } from '../../core/clock.js';
import { queryRow, queryRows } from '../../database/sql.js';
import { problem } from '../../http/problems/problem.js';
import { LicenseKeys } from '../../keys/license-keys.js';
import type { License } from '../../licenses/license.entity.js';
import { isKeyMailable } from '../../licenses/mailable-key.js';
import { licenseRevision } from '../../licenses/license-revision.js';
import type { PurchaseState, StaffStatus } from '../../licenses/license.rules.js';
import type { Decision } from '../../releases/release-requests.js';
import { readAuditTrail, type AuditEvent } from '../audit/audit-trail.js';

/** A license in responses to staff. */
interface LicenseDetail extends LicenseView {
  /** The `licenseRevision`, which a change may name in `if-match`. */
  readonly revision: string;
  readonly is_key_mailable: boolean;
  /** The status that staff set; `status` also takes the purchase into account. */
  readonly staff_status: StaffStatus;
  readonly purchase: {
    readonly transaction_id: string;
    readonly state: PurchaseState;
    readonly recorded_on: string;
  } | null;
  readonly release_requests: readonly TimesAsText<ReleaseRequestRow>[];
  readonly history: AuditEvent[];
}

interface ReleaseRequestRow {
  readonly id: string;
  readonly activation_id: string;
  readonly reason: string | null;
  readonly language: string | null;
  readonly asked_at: Date;
  readonly decision: Decision | null;
  readonly decided_at: Date | null;
}

const HISTORY_LIMIT = 500;

// One statement reads all values that the revision covers, so that it is the revision of the values that are shown.
const SELECT_LICENSE = `
  select ${LICENSE_COLUMNS}, l.key_generation, l.key_hash,
    (select json_build_object('transaction_id', p.transaction_id, 'state', p.state, 'recorded_on', p.recorded_on)
     from purchase p where p.id = l.purchase_id) as purchase
  from license l where l.id = $1`;

const SELECT_RELEASE_REQUESTS = `
  select r.id, r.activation_id, r.reason, r.language, r.asked_at, r.decision, r.decided_at
  from activation a join release_request r on r.activation_id = a.id
  where a.license_id = $1 order by r.asked_at desc, r.id desc`;

type DetailRow = LicenseRow & Pick<License, 'key_generation' | 'key_hash'> & Pick<LicenseDetail, 'purchase'>;

/** Reads a license with its purchase, release requests and history. @throws Problem `not_found` */
export async function readLicenseDetail(
  dataSource: DataSource,
  keys: LicenseKeys,
  id: string,
): Promise<LicenseDetail> {
  const row = isUuid(id) ? await queryRow<DetailRow>(dataSource, SELECT_LICENSE, [id]) : undefined;
  if (!row) throw problem('not_found');
  const [[license], requests, history] = await Promise.all([
    withActivations(dataSource, [row]),
    queryRows<ReleaseRequestRow>(dataSource, SELECT_RELEASE_REQUESTS, [id]),
    readAuditTrail(dataSource, { license_id: id }, HISTORY_LIMIT),
  ]);
  const { staff_status, purchase } = row;
  return {
    ...license!,
    is_key_mailable: isKeyMailable(keys, row),
    staff_status,
    purchase,
    revision: licenseRevision(row),
    release_requests: requests.map(timesAsText),
    history,
  };
}
