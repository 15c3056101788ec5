import { describe, expect, test } from '@jest/globals';
import type { ManifestContent } from '../../src/keys/manifests/signed-manifest.js';
import { Coverage } from '../../src/manifest/coverage.js';
import type { ManifestService } from '../../src/manifest/manifest.service.js';
import { PublishedVersions } from '../../src/manifest/published-versions.js';

const published = (version: string, minimum: string | null): ManifestContent => ({
  _type: 'update-manifest/v1',
  product: 'com.example.app',
  sequence: 1,
  issued_at: '2026-11-01T00:00:00Z',
  expires_at: '2027-02-01T00:00:00Z',
  version,
  dmg: { url: `https://dl.example.com/App-${version}.dmg`, size: 1, sha256: 'a'.repeat(64) },
  minimum_license_expiry: minimum,
  also_available: [],
  previous: null,
});

/** The coverage in an instance that knows these versions, while the primary database may have others. */
function coverageOf(known: PublishedVersions, primary = known) {
  const manifests = {
    versions: known,
    refreshes: 0,
    async refresh() {
      manifests.refreshes += 1;
      manifests.versions = primary;
    },
  };
  return { manifests, coverage: new Coverage(manifests as unknown as ManifestService) };
}

const versions = (...contents: ManifestContent[]) => {
  const all = new PublishedVersions();
  for (const content of contents) all.add(content);
  return all;
};

const EXPIRY = new Date('2026-06-01T00:00:00Z');
const old = published('3.1', '2026-01-01T00:00:00Z');
const restricted = published('3.2', '2026-06-02T00:00:00Z');

describe('whether a license covers a version:', () => {
  test.each([
    ['a version whose minimum the license meets is covered', '3.1', EXPIRY, true],
    ['a version whose minimum is a day after the expiry is not covered', '3.2.0', EXPIRY, false],
    [
      'a version whose minimum is exactly the expiry is covered',
      '3.2',
      new Date('2026-06-02T00:00:00Z'),
      true,
    ],
    ['a version that was never published is covered', '9.9', EXPIRY, true],
    ['every version is covered if the license never expires', '3.2', null, true],
  ])('%s', async (_what, version, expiry, isCovered) => {
    const { coverage, manifests } = coverageOf(versions(old, restricted));
    expect(coverage.covers(version, expiry)).toBe(isCovered);
    const refusal = await coverage.refusal(version, expiry);
    expect(refusal?.code).toBe(isCovered ? undefined : 'version_not_covered');
    // The primary is queried before a refusal, and only then.
    expect(manifests.refreshes).toBe(isCovered ? 0 : 1);
  });

  test('a refusal names the minimum, and the newest version that the license covers', async () => {
    const refusal = await coverageOf(versions(old, restricted)).coverage.refusal('3.2', EXPIRY);
    expect(refusal!.members).toEqual({
      minimum_license_expiry: '2026-06-02T00:00:00Z',
      newest_covered_version: '3.1',
      download_url: 'https://dl.example.com/App-3.1.dmg',
    });
  });

  test('a refusal names no newest version if the license covers none', async () => {
    const refusal = await coverageOf(PublishedVersions.of(restricted)).coverage.refusal('3.2', EXPIRY);
    expect(refusal!.members).toMatchObject({ newest_covered_version: null, download_url: null });
  });

  test('a version whose minimum the primary has lowered is not refused', async () => {
    const lowered = PublishedVersions.of({ ...restricted, minimum_license_expiry: null });
    const { coverage } = coverageOf(versions(old, restricted), lowered);
    expect(await coverage.refusal('3.2', EXPIRY)).toBeUndefined();
  });
});

test('a version is withdrawn if a lower version is published after it, and not if it is published again', () => {
  const all = versions(old, restricted, { ...restricted, sequence: 2 });
  expect(all.find('3.2')).toMatchObject({ isWithdrawn: false, sequence: 2 });
  all.add({ ...old, sequence: 3 });
  expect(all.find('3.2')).toMatchObject({ isWithdrawn: true });
  expect(all.find('3.1')).toMatchObject({ isWithdrawn: false, sequence: 3 });
});

test('a version that is listed only in also_available is offered, but does not become live when the live version is withdrawn', () => {
  const { version, dmg, minimum_license_expiry } = old;
  const also_available = [{ version, dmg, minimum_license_expiry }];
  const all = versions({ ...restricted, sequence: 4, also_available });
  expect(all.find('3.1')).toEqual({ ...also_available[0], sequence: 0, isWithdrawn: false });
  expect(all.newestCovered(EXPIRY)?.version).toBe('3.1');
  expect(all.newestBelow('3.2')).toBeUndefined();
  // A version that was live keeps the sequence of its publication.
  const known = versions({ ...old, sequence: 3 }, { ...restricted, sequence: 4, also_available });
  expect(known.find('3.1')).toMatchObject({ sequence: 3 });
  expect(known.newestBelow('3.2')?.version).toBe('3.1');
});
