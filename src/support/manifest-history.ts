import { DataSource } from 'typeorm';
import { DAY_MS, rfc3339 } from '../core/clock.js';
import { parseSigned } from '../keys/manifests/signed-manifest.js';
import { compareVersions } from '../keys/manifests/version.js';

const MOST = 100;

/** What was published, newest first, and how long the live one is good for. */
export async function publishedManifests(dataSource: DataSource, now: Date) {
  // One more than is told: whether the oldest took something back is seen beside the one before it.
  const sql = `select signed, published_at from manifest order by sequence desc limit ${MOST + 1}`;
  const rows = (await dataSource.query(sql)) as { signed: string; published_at: Date }[];
  const contents = rows.map(({ signed, published_at }) => ({ ...parseSigned(signed), published_at }));
  const manifests = contents.slice(0, MOST).map((content, i) => {
    const { sequence, version, published_at, expires_at, minimum_license_expiry } = content;
    const before = contents[i + 1];
    const withdrawal = before !== undefined && compareVersions(version, before.version) < 0;
    return {
      sequence,
      version,
      published_at: rfc3339(published_at),
      expires_at,
      minimum_license_expiry,
      withdrawal,
    };
  });
  const [live] = contents;
  return { live: live ? liveLine(live, now) : null, manifests };
}

function liveLine(live: { sequence: number; version: string; expires_at: string }, now: Date) {
  const { sequence, version, expires_at } = live;
  return {
    sequence,
    version,
    expires_at,
    days_left: Math.floor((Date.parse(expires_at) - now.getTime()) / DAY_MS),
  };
}
