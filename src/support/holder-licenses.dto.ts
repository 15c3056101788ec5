import { validate as isUuid } from 'uuid';
import { Invalid, oneOf, textField, type Field } from '../core/field.js';
import { invalidMembers } from '../http/problems/problem.js';
import { STAFF_STATUSES } from '../licenses/license.rules.js';
import { LICENSE_SORTS, type HolderLicensesQuery, type LicensePosition } from './holder-licenses.js';

/** The sort key of the last license of a page (a number of seconds or a rank, `Infinity` without an expiry), and its id. */
const CURSOR = /^(-?\d{1,12}(?:\.\d{1,6})?|Infinity)_([0-9a-f-]{36})$/;

const cursorField = textField('must be the next_cursor of a page', (text): LicensePosition | null => {
  const [, sort_key = '', id = ''] = CURSOR.exec(text) ?? [];
  return isUuid(id) ? { sort_key, id } : null;
});
const statusField = oneOf([...STAFF_STATUSES, 'refunded']);
const sortField = oneOf(LICENSE_SORTS);

/** The position in a list as the text that a caller sends to get the next page. */
export const toCursor = (position: LicensePosition | null): string | null =>
  position && `${position.sort_key}_${position.id}`;

/** Parses the query of `GET /support/api/licenses/{id}/holder`. @throws Problem `invalid_request` */
export function toHolderLicensesQuery(query: Readonly<Record<string, unknown>>): HolderLicensesQuery {
  const refusals: Record<string, string> = {};
  const read = <T>(name: string, { parse }: Field<T>): T | undefined => {
    if (query[name] === undefined) return undefined;
    const value = parse(query[name]);
    if (!(value instanceof Invalid)) return value;
    refusals[name] = value.sentence;
    return undefined;
  };
  const status = read('status', statusField);
  const sort = read('sort', sortField) ?? 'issued';
  const after = read('cursor', cursorField);
  if (Object.keys(refusals).length > 0) throw invalidMembers(refusals);
  return { status, sort, after };
}
