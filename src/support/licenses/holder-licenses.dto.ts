import { oneOf, optional } from '../../core/field.js';
import { Member } from '../../http/parsing/member.js';
import { STAFF_STATUSES, type LicenseStatus } from '../../licenses/license.rules.js';
import { cursorField, type LicensePosition } from './license-cursor.js';

/**
 * `issued`: the newest first. `status`: active, suspended, revoked, refunded. `expiry`: the earliest first, those without an expiry
 * last.
 */
const LICENSE_SORTS = ['issued', 'status', 'expiry'] as const;

/** Query of `GET /support/api/licenses/{id}/holder`. */
export class HolderLicensesQuery {
  @Member(optional(oneOf([...STAFF_STATUSES, 'refunded'])))
  status: LicenseStatus | undefined;

  @Member(oneOf(LICENSE_SORTS))
  sort: (typeof LICENSE_SORTS)[number] = 'issued';

  /** The `next_cursor` of the page before. */
  @Member(optional(cursorField))
  cursor: LicensePosition | undefined;
}
