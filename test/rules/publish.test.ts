import { describe, expect, test } from '@jest/globals';
import { MANIFEST_TYPE, manifestBytes, type ManifestContent } from '../../src/keys/signed-manifest.js';
import { manifestDigest, PublishRefused, refuseUnpublishable } from '../../src/manifest/manifest.rules.js';

const NOW = new Date('2026-11-20T13:00:00Z');
const PRODUCT = 'com.example.app';

const live: ManifestContent = {
  _type: MANIFEST_TYPE,
  product: PRODUCT,
  sequence: 7,
  issued_at: '2026-11-01T00:00:00Z',
  expires_at: '2027-02-01T00:00:00Z',
  version: '3.2.0',
  dmg: { url: 'https://dl.example.com/App-3.2.0.dmg', size: 1, sha256: 'a'.repeat(64) },
  minimum_license_expiry: '2026-01-04T00:00:00Z',
  also_available: [],
  previous: null,
};
const signed = manifestBytes(live);
const next: ManifestContent = {
  ...live,
  sequence: 8,
  version: '3.3.0',
  dmg: { url: 'https://dl.example.com/App-3.3.0.dmg', size: 2, sha256: 'b'.repeat(64) },
  previous: manifestDigest(signed),
};
const refresh = { ...live, sequence: 8, expires_at: '2027-05-01T00:00:00Z', previous: next.previous };

const publish = (content: ManifestContent, on: ManifestContent | null = live, known?: ManifestContent) =>
  refuseUnpublishable(content, on && { content: on, signed }, known, PRODUCT, NOW);

describe('may be published', () => {
  test('a higher version, also with a lower minimum', () => {
    publish(next);
    publish({ ...next, minimum_license_expiry: null });
  });

  test('the first one', () => publish({ ...next, previous: null }, null));

  test('a refresh: the same version and image, its minimum kept or lowered', () => {
    publish(refresh, live, live);
    publish({ ...refresh, version: '3.2', minimum_license_expiry: null }, live, live);
  });
});

describe('is refused', () => {
  const older = {
    version: '1.0',
    dmg: { ...live.dmg, url: 'http://dl.example.com/a' },
    minimum_license_expiry: null,
  };
  const refusals: [what: string, sentence: string, ...Parameters<typeof publish>][] = [
    [
      'another product',
      'This manifest is for the product com.example.other; this server serves com.example.app.',
      { ...next, product: 'com.example.other' },
    ],
    [
      'what has expired, to the second',
      'This manifest expired at 2026-11-20T13:00:00Z.',
      { ...next, expires_at: '2026-11-20T13:00:00Z' },
    ],
    ['a url without https', 'Every url of a manifest must be https.', { ...next, dmg: older.dmg }],
    [
      'an older version without it',
      'Every url of a manifest must be https.',
      { ...next, also_available: [older] },
    ],
    [
      'a minimum raised for a published version',
      'Version 3.2.0 is published already, and its minimum license expiry cannot be raised.',
      { ...refresh, minimum_license_expiry: '2026-01-04T00:00:01Z' },
      live,
      live,
    ],
    [
      'a minimum where everyone had the version',
      'Version 3.2.0 is published already, and its minimum license expiry cannot be raised.',
      refresh,
      live,
      { ...live, minimum_license_expiry: null },
    ],
    [
      'a predecessor where there is none',
      'No manifest is live, so previous must be null (sign with --first).',
      next,
      null,
    ],
    [
      'the sequence that is live',
      'The live manifest has sequence 7; this one has 7 and must be above it.',
      { ...next, sequence: 7 },
    ],
    [
      'another predecessor',
      'Another manifest is live now (sequence 7, version 3.2.0): sign again on top of it.',
      { ...next, previous: manifestDigest('another') },
    ],
    [
      'a second first one',
      'Another manifest is live now (sequence 7, version 3.2.0): sign again on top of it.',
      { ...next, previous: null },
    ],
    [
      'a lower version, compared by number',
      'The live version is 3.2.0; this one is 3.1.10 and must be above it.',
      { ...next, version: '3.1.10' },
    ],
    [
      'the live version with another image',
      'Version 3.2 is live with another image: give the new image a new version.',
      { ...next, version: '3.2' },
    ],
  ];

  test.each(refusals)('%s', (_what, sentence, ...call) => {
    expect(() => publish(...call)).toThrow(new PublishRefused(sentence));
    expect(() => publish(...call)).toThrow(PublishRefused);
  });
});
