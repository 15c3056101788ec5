import { DataSource } from 'typeorm';
import { validate as isUuid } from 'uuid';
import { LICENSE_COLUMNS, toLicenseSummary, type LicenseRow } from '../../activation/license-overview.js';
import { queryRows } from '../../database/sql.js';
import { invalidMembers, problem } from '../../http/problems/problem.js';
import type { HolderLicensesPage } from '../../http/responses/api-types.js';
import type { LicenseStatus } from '../../licenses/license.rules.js';
import { LICENSE_STATUS } from '../../licenses/license-status.js';

/**
 * `issued`: the newest first. `status`: active, suspended, revoked, refunded. `expiry`: the earliest first, those without an expiry
 * last.
 */
export const LICENSE_SORTS = ['issued', 'status', 'expiry'] as const;

export interface HolderLicensesFilter {
  readonly status: LicenseStatus | undefined;
  readonly sort: (typeof LICENSE_SORTS)[number];
  /** The position of the last license of the page before; undefined for the first page. */
  readonly cursor: LicensePosition | undefined;
}

/** A position in the sorted list: the value that is sorted by, and the id of the license. */
export interface LicensePosition {
  /** As text, as the driver returns it: a number is not exact to the microsecond for a distant expiry. */
  readonly sort_key: string;
  readonly id: string;
  /**
   * When the license in the URL, which names the holder, got its address, in milliseconds; undefined if it has had it since its
   * issue. If it gets another address, it names another holder, and the position in the list of the former one is refused.
   */
  readonly address_since?: number | undefined;
}

/** A page of the licenses of one holder. The filter and the page do not change `counts`. */
type HolderLicenses = Omit<HolderLicensesPage, 'next_cursor'> & {
  /** The cursor of the next page: the position of the last license of this one; null on the last page. */
  readonly nextCursor: LicensePosition | null;
};

/** How many licenses a response has at most. */
export const PAGE_SIZE = 50;

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
    order by sort_key, id desc limit ${PAGE_SIZE + 1}
  )
  select named.email as holder_email, named.email_since as holder_email_since, status_counts.counts, page.*,
    (select count(*)::integer from activation where license_id = page.id and ended_at is null) as machines_in_use
  from (
    select json_object_agg(status, licenses) as counts
    from (select status, count(*)::integer as licenses from with_status group by status) by_status
  ) status_counts left join license named on named.id = $1 left join page on true
  order by page.sort_key, page.id desc`;

const NO_COUNTS = { active: 0, suspended: 0, revoked: 0, refunded: 0 } satisfies HolderLicenses['counts'];

type PageRow = LicenseRow & {
  readonly holder_email: string;
  readonly holder_email_since: Date | null;
  /** Null if there is no such license, or if it has no e-mail address. */
  readonly counts: Partial<HolderLicenses['counts']> | null;
  readonly machines_in_use: number;
  readonly sort_key: string;
};

/**
 * Reads one page of the licenses of a holder, with keyset pagination: a license that is issued between two requests does not shift
 * the pages.
 * @param id the id of any license of the holder. The URLs of the API and of the page must not contain the e-mail address.
 * @throws Problem `not_found` if there is no such license, or if its address is not known; `invalid_request` if it has got another
 *   address since the page before
 */
export async function readHolderLicenses(
  dataSource: DataSource,
  id: string,
  { status, sort, cursor }: HolderLicensesFilter,
): Promise<HolderLicenses> {
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
  const shown = found.slice(0, PAGE_SIZE);
  const last = shown.at(-1);
  return {
    email: holder_email,
    counts: { ...NO_COUNTS, ...counts },
    licenses: shown.map((row) => toLicenseSummary(row, row.machines_in_use)),
    nextCursor:
      last && found.length > PAGE_SIZE ? { sort_key: last.sort_key, id: last.id, address_since } : null,
  };
}
