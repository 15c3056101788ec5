import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  alsoAvailable,
  compareVersions,
  covers,
  isVersion,
  manifestBytes,
  parseSigned,
  type ManifestContent,
  type ManifestEntry,
  type SignedManifest,
} from '../../src/keys/manifests/signed-manifest.js';
import { readVectors } from '../support/vectors.js';

const { manifest } = readVectors<{ manifest: SignedManifest }>('manifests.json');
const content = parseSigned(manifest.signed);
const YEARS = ['2025', '2027', '2028'].map((year) => `${year}-01-01T00:00:00Z`);
const [y25 = '', y27 = '', y28 = ''] = YEARS;

/** All four parts of a version; missing parts are 0. */
function padded(parts: bigint[]): bigint[] {
  return [...parts, 0n, 0n, 0n].slice(0, 4);
}

function entry(version: string, minimum: string | null): ManifestEntry {
  return { version, dmg: content.dmg, minimum_license_expiry: minimum };
}

function versions(entries: ManifestEntry[]): string[] {
  return entries.map(({ version }) => version);
}

function manifestOf(
  { version, minimum_license_expiry }: ManifestEntry,
  older: ManifestEntry[],
): ManifestContent {
  return { ...content, version, minimum_license_expiry, also_available: older };
}

describe('versions', () => {
  test('compare as the numbers they are made of, of any size', () => {
    const parts = fc.array(
      fc.oneof(fc.bigInt({ min: 0n, max: 10n ** 20n }), fc.bigInt({ min: 0n, max: 3n })),
      {
        minLength: 1,
        maxLength: 4,
      },
    );
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        const difference = padded(a)
          .map((part, i) => part - (padded(b)[i] ?? 0n))
          .find((d) => d !== 0n);
        const sign = difference === undefined ? 0 : difference < 0n ? -1 : 1;
        expect(Math.sign(compareVersions(a.join('.'), b.join('.')))).toBe(sign);
      }),
    );
  });

  test('are one to four dotted numbers of at most 32 characters', () => {
    const good = ['3', '3.2', '3.2.0', '1.2.3.4', '007.1', '9'.repeat(32)];
    const bad = [
      '',
      '1.',
      '.1',
      '1..2',
      '1.2.3.4.5',
      'v1',
      '1.2b',
      ' 1',
      '1\n',
      '-1',
      '1e3',
      '٣',
      '9'.repeat(33),
    ];
    expect(good.filter((text) => !isVersion(text))).toEqual([]);
    expect(bad.filter(isVersion)).toEqual([]);
  });
});

describe('what a license covers', () => {
  test.each([
    ['the same minimum keeps the older versions, without the previous one', y27, y27, ['2', '1']],
    ['a raised minimum keeps the previous version too', y28, y27, ['3', '2', '1']],
    ['a lowered minimum drops each version that no license needs', y25, y27, ['1']],
    ['a version without a minimum needs no older version', null, y27, []],
  ])('%s', (_name, newMinimum, minimum, kept) => {
    const previous = manifestOf(entry('3', minimum), [entry('2', y25), entry('1', null)]);
    expect(versions(alsoAvailable(newMinimum, previous))).toEqual(kept);
  });

  test('after any series of new versions, a license is offered the newest version it covers, and each manifest is valid', () => {
    const minimum = fc.constantFrom(null, ...YEARS);
    fc.assert(
      fc.property(fc.array(minimum, { minLength: 1, maxLength: 12 }), minimum, (minimums, expiry) => {
        const published: ManifestEntry[] = [];
        let current: ManifestContent | null = null;
        for (const [i, newMinimum] of minimums.entries()) {
          const also: ManifestEntry[] = current ? alsoAvailable(newMinimum, current) : [];
          const latest = entry(`${i + 1}`, newMinimum);
          current = parseSigned(manifestBytes(manifestOf(latest, also)));
          published.unshift(latest);
        }
        const licensed = expiry === null ? null : new Date(expiry);
        const covered = ({ minimum_license_expiry }: ManifestEntry): boolean =>
          covers(minimum_license_expiry, licensed);
        const offered = current ? [current, ...current.also_available].find(covered) : undefined;
        expect(offered?.version).toBe(published.find(covered)?.version);
      }),
    );
  });
});
