import { describe, expect, test } from '@jest/globals';
import {
  MANIFEST_TYPE,
  manifestBytes,
  type ManifestContent,
} from '../../src/keys/manifests/signed-manifest.js';
import { manifestDigest, PublishError, refuseUnpublishable } from '../../src/manifest/manifest.rules.js';
import { PublishedVersions } from '../../src/manifest/published-versions.js';

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
const forEveryone = { ...live, minimum_license_expiry: null };
const old = { version: '3.1', dmg: live.dmg, minimum_license_expiry: '2025-01-04T00:00:00Z' };
const next: ManifestContent = {
  ...live,
  sequence: 8,
  version: '3.3.0',
  dmg: { url: 'https://dl.example.com/App-3.3.0.dmg', size: 2, sha256: 'b'.repeat(64) },
  previous: manifestDigest(manifestBytes(live)),
};
/** A version with an error, and the manifest that withdraws it. */
const bad = next;
const withdrawal = { ...live, sequence: 9, previous: manifestDigest(manifestBytes(next)) };
const newest = { ...next, version: '3.4', sequence: 10, previous: manifestDigest(manifestBytes(withdrawal)) };
const refresh = { ...live, sequence: 8, expires_at: '2027-05-01T00:00:00Z', previous: next.previous };

/** The state after these manifests were published in this order; the last is live. */
const versionsOf = (...published: ManifestContent[]) => {
  const versions = new PublishedVersions();
  for (const content of published) versions.add(content);
  return versions;
};

/** Makes the checks that precede a publication. @param published the earlier manifests; the last is live */
const publish = (
  content: ManifestContent,
  published: ManifestContent[] = [live],
  { isWithdrawal = false, isRepeated = false, now = NOW } = {},
) => {
  const liveContent = published.at(-1);
  refuseUnpublishable(content, {
    live: liveContent ? { content: liveContent, signed: manifestBytes(liveContent) } : null,
    versions: versionsOf(...published),
    product: PRODUCT,
    now,
    isWithdrawal,
    isRepeated,
  });
};

describe('the server permits the publication of', () => {
  test('a higher version, also with a lower minimum', () => {
    publish(next);
    publish({ ...next, minimum_license_expiry: null });
  });

  test('the first manifest', () => publish({ ...next, previous: null }, []));

  test.each(['https://dl.example.com', 'https://dl.example.com/proxy/https://u@dl.example.com/App.dmg'])(
    'an image at %s',
    (url) => publish({ ...next, dmg: { ...next.dmg, url } }),
  );

  test('a manifest issued by a clock that is an hour ahead', () => {
    publish({ ...next, issued_at: '2026-11-20T14:00:00Z' });
  });

  test('a sequence up to 999,999,999 above the live one', () => {
    publish({ ...next, sequence: 1_000_000_006 });
    publish({ ...next, previous: null, sequence: 999_999_999 }, []);
    const tooHigh = () => publish({ ...next, previous: null, sequence: 1_000_000_000 }, []);
    expect(tooHigh).toThrow('The sequence 1000000000 is too high');
  });

  test('a refresh: the same version and image, its minimum kept or lowered', () => {
    publish(refresh);
    publish({ ...refresh, version: '3.2', minimum_license_expiry: null });
  });

  test('a withdrawal: back to a version that was published, and marked as a withdrawal', () => {
    publish(withdrawal, [live, bad], { isWithdrawal: true });
  });

  test('a withdrawn version again, with the same image', () => {
    const again = { ...bad, sequence: 10, previous: manifestDigest(manifestBytes(withdrawal)) };
    publish(again, [live, bad, withdrawal]);
  });
});

test('the live manifest may be published again, with which a lost answer is repeated, but not once it expired', () => {
  publish(live, [live], { isRepeated: true });
  const expired = { isRepeated: true, now: new Date(live.expires_at) };
  expect(() => publish(live, [live], expired)).toThrow('This manifest expired');
});

describe('the server refuses', () => {
  const versionWithoutHttps = {
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
      'a manifest that expires at this second',
      'This manifest expired at 2026-11-20T13:00:00Z.',
      { ...next, expires_at: '2026-11-20T13:00:00Z' },
    ],
    [
      'a manifest issued by a clock that is ahead by more than an hour',
      'This manifest was issued at 2026-11-20T14:00:01Z, which is in the future: correct the clock of the machine that signed it, and sign again.',
      { ...next, issued_at: '2026-11-20T14:00:01Z' },
    ],
    [
      'a url without https',
      'Every url of a manifest must begin with https:// and a host.',
      { ...next, dmg: versionWithoutHttps.dmg },
    ],
    [
      'a url without a host',
      'Every url of a manifest must begin with https:// and a host.',
      { ...next, dmg: { ...next.dmg, url: 'https:///dl.example.com/App.dmg' } },
    ],
    [
      'a url with a percent sign in its host',
      'Every url of a manifest must begin with https:// and a host.',
      { ...next, dmg: { ...next.dmg, url: 'https://dl%2eexample.com/App.dmg' } },
    ],
    [
      'a url with https after its beginning',
      'Every url of a manifest must begin with https:// and a host.',
      { ...next, dmg: { ...next.dmg, url: 'http://dl.example.com/https://dl.example.com/App.dmg' } },
    ],
    [
      'an older version with a url without https',
      'Every url of a manifest must begin with https:// and a host.',
      { ...next, also_available: [versionWithoutHttps] },
    ],
    [
      'a minimum raised for a published version',
      'Version 3.2.0 is published already, and its minimum license expiry cannot be raised.',
      { ...refresh, minimum_license_expiry: '2026-01-04T00:00:01Z' },
    ],
    [
      'a minimum for a version that had none',
      'Version 3.2.0 is published already, and its minimum license expiry cannot be raised.',
      { ...refresh, previous: manifestDigest(manifestBytes(forEveryone)) },
      [forEveryone],
    ],
    [
      'a minimum raised for an older version that is still offered',
      'Version 3.1 is published already, and its minimum license expiry cannot be raised.',
      { ...next, also_available: [{ ...old, minimum_license_expiry: '2025-06-01T00:00:00Z' }] },
      [{ ...live, ...old, sequence: 6 }, live],
    ],
    [
      'an older version with another image',
      'Version 3.1 is published with another image: give the new image a new version.',
      { ...next, also_available: [{ ...old, dmg: next.dmg }] },
      [{ ...live, ...old, sequence: 6 }, live],
    ],
    [
      'an older version that was never published',
      'Version 3.1 of also_available was never published.',
      { ...next, also_available: [old] },
    ],
    [
      'an older version that was withdrawn',
      'Version 3.1 of also_available was withdrawn.',
      { ...next, also_available: [old] },
      [{ ...live, ...old, sequence: 5 }, { ...live, version: '3.0', sequence: 6 }, live],
    ],
    [
      'a predecessor when no manifest is live',
      'No manifest is live, so previous must be null (sign with --first).',
      next,
      [],
    ],
    [
      'a sequence that is more than 999,999,999 above the live one',
      'The sequence 1000000007 is too high: clients accept no lower sequence afterwards.',
      { ...next, sequence: 1_000_000_007 },
    ],
    [
      'the manifest that is live already, with other signatures',
      'This manifest is already live with other signatures: sign the version again with manifest refresh.',
      live,
    ],
    [
      'a password in a url',
      'No url of a manifest may hold a user name or a password.',
      { ...next, dmg: { ...next.dmg, url: 'https://u:p@dl.example.com/App.dmg' } },
    ],
    [
      'a user name in a url',
      'No url of a manifest may hold a user name or a password.',
      { ...next, dmg: { ...next.dmg, url: 'https://u@dl.example.com/App.dmg' } },
    ],
    [
      'an empty user name in a url',
      'No url of a manifest may hold a user name or a password.',
      { ...next, dmg: { ...next.dmg, url: 'https://@dl.example.com/App.dmg' } },
    ],
    [
      'a password alone, in the url of an older version',
      'No url of a manifest may hold a user name or a password.',
      {
        ...next,
        also_available: [{ ...old, dmg: { ...old.dmg, url: 'https://:p@dl.example.com/App.dmg' } }],
      },
    ],
    [
      'a manifest without an older version, for licenses that expire early',
      'also_available lacks version 3.1, for licenses that expire before the minimum: sign again.',
      { ...next, previous: manifestDigest(manifestBytes({ ...live, also_available: [old] })) },
      [{ ...live, also_available: [old] }],
    ],
    [
      'an older version in also_available with a lower minimum license expiry than it was published with',
      'Version 3.1 of also_available has another minimum license expiry than it was published with.',
      { ...next, also_available: [{ ...old, minimum_license_expiry: null }] },
      [{ ...live, ...old, sequence: 6 }, live],
    ],
    [
      'a first manifest marked as a withdrawal',
      'This manifest withdraws nothing: no manifest is live.',
      { ...next, previous: null },
      [],
      { isWithdrawal: true },
    ],
    [
      'the sequence of the live manifest',
      'The live manifest has sequence 7; this one has 7 and must be above it.',
      { ...next, sequence: 7 },
    ],
    [
      'another predecessor',
      'Another manifest is live now (sequence 7, version 3.2.0): sign again on top of it.',
      { ...next, previous: manifestDigest('another') },
    ],
    [
      'a manifest without a predecessor when another one is live',
      'Another manifest is live now (sequence 7, version 3.2.0): sign again on top of it.',
      { ...next, previous: null },
    ],
    [
      'a lower version, compared by number',
      'The live version is 3.2.0; this one is 3.1.10 and must not be below it (unless it is published with --withdraw).',
      { ...next, version: '3.1.10' },
    ],
    [
      'a withdrawal to a higher version',
      'This manifest withdraws nothing: the live version is 3.2.0, and this one is 3.3.0.',
      next,
      [live],
      { isWithdrawal: true },
    ],
    [
      'a refresh marked as a withdrawal',
      'This manifest withdraws nothing: the live version is 3.2.0, and this one is 3.2.0.',
      refresh,
      [live],
      { isWithdrawal: true },
    ],
    [
      'a withdrawal to an unpublished version',
      'Version 3.1 was never published, so it cannot be the target of a withdrawal.',
      { ...next, version: '3.1' },
      [live],
      { isWithdrawal: true },
    ],
    [
      'a withdrawal to a withdrawn version',
      'Version 3.3.0 is withdrawn.',
      { ...bad, sequence: 11, previous: manifestDigest(manifestBytes(newest)) },
      [live, bad, withdrawal, newest],
      { isWithdrawal: true },
    ],
    [
      'a withdrawal to a version with another image',
      'Version 3.2.0 is published with another image: give the new image a new version.',
      { ...withdrawal, dmg: next.dmg },
      [live, bad],
      { isWithdrawal: true },
    ],
    [
      'the live version with another image',
      'Version 3.2 is published with another image: give the new image a new version.',
      { ...next, version: '3.2' },
    ],
  ];

  test.each(refusals)('%s', (_what, sentence, ...call) => {
    expect(() => publish(...call)).toThrow(new PublishError(sentence));
    // toThrow compares only the message of an error object, so the class is checked too.
    expect(() => publish(...call)).toThrow(PublishError);
  });
});
