import { validate as isUuid } from 'uuid';
import { oneOf, optional, textField } from '../../core/field.js';
import { Member } from '../../http/parsing/member.js';
import { STAFF_STATUSES } from '../../licenses/license.rules.js';
import { LICENSE_SORTS, type HolderLicensesFilter, type LicensePosition } from './holder-licenses.js';

/**
 * The format of a cursor: sort key, `_` and license id, then `_` and `address_since` if that is defined (`LicensePosition`). The
 * sort key depends on `sort`. `issued`: minus the time of issue in seconds. `status`: 1 to 4 (active, suspended, revoked,
 * refunded). `expiry`: the expiry in seconds, or `Infinity` if there is none.
 */
const CURSOR = /^(-?\d{1,12}(?:\.\d{1,6})?|Infinity)_([0-9a-f-]{36})(?:_(\d{1,15}))?$/;

/** The position after which a page begins, as `toCursor` writes it. */
export const cursorField = textField('must be the next_cursor of a page', (text): LicensePosition | null => {
  const [, sort_key = '', id = '', since] = CURSOR.exec(text) ?? [];
  return isUuid(id) ? { sort_key, id, address_since: since === undefined ? undefined : Number(since) } : null;
});

/** The position in a list as the text that a caller sends to get the next page. */
export const toCursor = (position: LicensePosition | null): string | null =>
  position && [position.sort_key, position.id, position.address_since ?? []].flat().join('_');

/** Query of `GET /support/api/licenses/{id}/holder`. */
export class HolderLicensesQuery implements HolderLicensesFilter {
  @Member(optional(oneOf([...STAFF_STATUSES, 'refunded'])))
  status: HolderLicensesFilter['status'];

  @Member(oneOf(LICENSE_SORTS))
  sort: HolderLicensesFilter['sort'] = 'issued';

  /** The `next_cursor` of the page before. */
  @Member(optional(cursorField))
  cursor: LicensePosition | undefined;
}
