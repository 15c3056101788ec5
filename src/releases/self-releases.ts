import { DAY_MS } from '../core/clock.js';
import { queryOne, type SqlConnection } from '../database/sql.js';
import { sinceCurrentHolder } from '../licenses/former-holder.js';

/**
 * The period for which releases by holders are counted. Retention keeps ended activations for 12 months, counted in
 * whole days, so a release can be deleted up to a day before this period ends.
 */
const SELF_RELEASE_WINDOW_MS = 365 * DAY_MS;

/** The time since which releases by holders are counted. */
export const selfReleaseWindowStart = (now: Date): Date => new Date(now.getTime() - SELF_RELEASE_WINDOW_MS);

/**
 * An SQL query: how many activations of a license (alias `l`) its current holder has released after `$2`, which is
 * `selfReleaseWindowStart`.
 */
export const COUNT_SELF_RELEASES = `
  select count(*)::integer from activation released
  where released.license_id = l.id and released.released_by_holder and released.ended_at > $2
    and ${sinceCurrentHolder('released.ended_at')}`;

/** Counts the activations of a license that its current holder released within the last 365 days. */
export async function countSelfReleases(
  database: SqlConnection,
  licenseId: string,
  now: Date,
): Promise<number> {
  const sql = `select (${COUNT_SELF_RELEASES}) as released from license l where l.id = $1`;
  const { released } = await queryOne<{ released: number }>(database, sql, [
    licenseId,
    selfReleaseWindowStart(now),
  ]);
  return released;
}
