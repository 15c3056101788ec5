import { DataSource } from 'typeorm';
import { DAY_MS, rfc3339 } from '../../core/clock.js';
import { queryRows } from '../../database/sql.js';
import type { ManifestListAnswer, Publication } from '../../http/responses/api-types.js';
import { parseSigned } from '../../keys/manifests/signed-manifest.js';
import { compareVersions } from '../../keys/manifests/version.js';

const MANIFEST_PAGE_SIZE = 100;

/** Reads the newest MANIFEST_PAGE_SIZE published manifests, newest first, and when the live one expires. */
export async function readPublishedManifests(dataSource: DataSource, now: Date): Promise<ManifestListAnswer> {
  // One more row than the page is read, because a withdrawal is recognized by comparison with the previous manifest.
  const contents = await readManifests(dataSource, MANIFEST_PAGE_SIZE + 1);
  const manifests = contents.slice(0, MANIFEST_PAGE_SIZE).map((content, i) => {
    const { sequence, version, published_at, expires_at, minimum_license_expiry } = content;
    const previous = contents[i + 1];
    const withdrawal = previous !== undefined && compareVersions(version, previous.version) < 0;
    return { sequence, version, published_at, expires_at, minimum_license_expiry, withdrawal };
  });
  const [live] = contents;
  return { live: live ? toLiveManifest(live, now) : null, manifests };
}

/** Reads when each version became the live one, newest first. */
export async function readPublications(dataSource: DataSource): Promise<Publication[]> {
  const manifests = await readManifests(dataSource, null);
  return manifests.flatMap(({ version, published_at }, i) => {
    const previous = manifests[i + 1];
    const order = previous ? compareVersions(version, previous.version) : 1;
    return order === 0 ? [] : [{ version, published_at, withdrawal: order < 0 }];
  });
}

/** Reads the published manifests, newest first. @param limit null reads all */
async function readManifests(dataSource: DataSource, limit: number | null) {
  const sql = 'select signed, published_at from manifest order by sequence desc limit $1';
  const rows = await queryRows<{ signed: string; published_at: Date }>(dataSource, sql, [limit]);
  return rows.map(({ signed, published_at }) => ({
    ...parseSigned(signed),
    published_at: rfc3339(published_at),
  }));
}

function toLiveManifest(live: { sequence: number; version: string; expires_at: string }, now: Date) {
  const { sequence, version, expires_at } = live;
  return {
    sequence,
    version,
    expires_at,
    days_left: Math.floor((Date.parse(expires_at) - now.getTime()) / DAY_MS),
  };
}
