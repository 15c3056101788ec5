import { DataSource } from 'typeorm';
import { DAY_MS } from '../core/clock.js';
import { sinceHolder } from '../licenses/former-holder.js';

/** A year as holders' own releases are counted. Ended bindings stay 12 months, so none is forgotten before. */
const YEAR_MS = 365 * DAY_MS;

/**
 * How many bindings of each license its holder released without support within the last 365 days, a former holder's not
 * counted; left out where none.
 */
export async function selfReleases(
  database: Pick<DataSource, 'query'>,
  licenseIds: readonly string[],
  now: Date,
): Promise<Map<string, number>> {
  const rows = (await database.query(
    `select a.license_id, count(*)::integer as released
     from activation a join license l on l.id = a.license_id
     where a.license_id = any($1) and a.released_by_holder and a.ended_at > $2
       and ${sinceHolder('a.ended_at')}
     group by 1`,
    [licenseIds, new Date(now.getTime() - YEAR_MS)],
  )) as { license_id: string; released: number }[];
  return new Map(rows.map(({ license_id, released }) => [license_id, released]));
}
