import { DataSource } from 'typeorm';
import { DAY_MS } from '../core/clock.js';
import { queryRows } from '../database/sql.js';
import { sinceCurrentHolder } from '../licenses/former-holder.js';

/** The period for which releases by holders are counted. Ended activations are kept at least as long. */
const SELF_RELEASE_WINDOW_MS = 365 * DAY_MS;

/**
 * Counts the activations of each license that its current holder released within the last 365 days. Licenses without such a
 * release are omitted.
 */
export async function countSelfReleases(
  database: Pick<DataSource, 'query'>,
  licenseIds: readonly string[],
  now: Date,
): Promise<Map<string, number>> {
  const rows = await queryRows<{ license_id: string; released: number }>(
    database,
    `select a.license_id, count(*)::integer as released
     from activation a join license l on l.id = a.license_id
     where a.license_id = any($1) and a.released_by_holder and a.ended_at > $2
       and ${sinceCurrentHolder('a.ended_at')}
     group by 1`,
    [licenseIds, new Date(now.getTime() - SELF_RELEASE_WINDOW_MS)],
  );
  return new Map(rows.map(({ license_id, released }) => [license_id, released]));
}
