import { DataSource } from 'typeorm';
import { validate as isUuid } from 'uuid';
import { LICENSE_COLUMNS, withActivations, type LicenseRow } from '../../activation/license-overview.js';
import { timesAsText, type RowOf } from '../../core/clock.js';
import { queryRow, queryRows } from '../../database/sql.js';
import { problem } from '../../http/problems/problem.js';
import type { LicenseDetail, ReleaseRequestLine } from '../../http/responses/api-types.js';
import { LicenseKeys } from '../../keys/license-keys.js';
import type { License } from '../../licenses/license.entity.js';
import { isKeyMailable } from '../../licenses/mailable-key.js';
import { licenseRevision } from '../../licenses/license-revision.js';
import { readAuditTrail } from '../audit/audit-trail.js';

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
    queryRows<RowOf<ReleaseRequestLine, 'asked_at' | 'decided_at'>>(dataSource, SELECT_RELEASE_REQUESTS, [
      id,
    ]),
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
