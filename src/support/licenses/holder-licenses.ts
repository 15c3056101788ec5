import { DataSource } from 'typeorm';
import { validate as isUuid } from 'uuid';
import { LICENSE_COLUMNS, toLicenseSummary, type LicenseRow } from '../../activation/license-overview.js';
import { queryRows } from '../../database/sql.js';
import { LICENSES_PAGE_SIZE } from '../../fields/licenses-page-size.js';
import { invalidMembers, problem } from '../../http/problems/problem.js';
import type { HolderLicensesPage } from '../../http/responses/api-types.js';
import { LICENSE_STATUS } from '../../licenses/license-status.js';
import type { HolderLicensesQuery } from './holder-licenses.dto.js';
import { toCursor } from './license-cursor.js';

// The index `license_email` finds the licenses of the holder, so the cost depends on their number alone. Machines are counted
// for the licenses of the page only. The counts come first in the join, because the page may be empty.
const SELECT_PAGE = `
  with holder_license as (
    select ${LICENSE_COLUMNS} from license l where l.email = (select email from license where id = $1)
  ), with_status as materialized (
    select holder_license.*, ${LICENSE_STATUS} as status from holder_license
  ), sorted as (
    select with_status.*, case $3
      when 'issued' then -extract(epoch from created_at)
      when 'status' then array_position(array['active', 'suspended', 'revoked', 'refunded'], status)
      else coalesce(extract(epoch from expires_at), 'infinity') end as sort_key
    from with_status where $2::text is null or status = $2
  ), page as (
    select * from sorted
    where $4::numeric is null or sort_key > $4 or (sort_key = $4 and id < $5::uuid)
    order by sort_key, id desc limit ${LICENSES_PAGE_SIZE + 1}
  )
  select named.email as holder_email, named.email_since as holder_email_since, status_counts.counts, page.*,
    (select count(*)::integer from activation where license_id = page.id and ended_at is null) as machines_in_use
  from (
    select json_object_agg(status, licenses) as counts
    from (select status, count(*)::integer as licenses from with_status group by status) by_status
  ) status_counts left join license named on named.id = $1 left join page on true
  order by page.sort_key, page.id desc`;

const NO_COUNTS = { active: 0, suspended: 0, revoked: 0, refunded: 0 } satisfies HolderLicensesPage['counts'];

type PageRow = LicenseRow & {
  readonly holder_email: string;
  readonly holder_email_since: Date | null;
  /** Null if there is no such license, or if it has no e-mail address. */
  readonly counts: Partial<HolderLicensesPage['counts']> | null;
  readonly machines_in_use: number;
  readonly sort_key: string;
};

/**
 * Reads one page of the licenses of a holder, with keyset pagination: a license that is issued between two requests does not shift
 * the pages. The filter and the page do not change `counts`.
 * @param id the id of any license of the holder. The URLs of the API and of the page must not contain the e-mail address.
 * @throws Problem `not_found` if there is no such license, or if its address is not known; `invalid_request` if it has got another
 *   address since the page before
 */
export async function readHolderLicenses(
  dataSource: DataSource,
  id: string,
  { status, sort, cursor }: HolderLicensesQuery,
): Promise<HolderLicensesPage> {
  if (!isUuid(id)) throw problem('not_found');
  const rows = await queryRows<PageRow>(dataSource, SELECT_PAGE, [
    id,
    status ?? null,
    sort,
    cursor?.sort_key ?? null,
    cursor?.id ?? null,
  ]);
  const { holder_email, holder_email_since, counts } = rows[0]!;
  if (!counts) throw problem('not_found');
  const address_since = holder_email_since?.getTime();
  if (cursor && cursor.address_since !== address_since)
    throw invalidMembers({ cursor: 'must be the next_cursor of a page of this holder' });
  // Without a license on the page, the row has only the counts.
  const found = rows.filter((row) => row.id !== null);
  const shown = found.slice(0, LICENSES_PAGE_SIZE);
  const last = shown.at(-1);
  return {
    email: holder_email,
    counts: { ...NO_COUNTS, ...counts },
    licenses: shown.map((row) => toLicenseSummary(row, row.machines_in_use)),
    next_cursor:
      last && found.length > LICENSES_PAGE_SIZE
        ? toCursor({ sort_key: last.sort_key, id: last.id, address_since })
        : null,
  };
}
