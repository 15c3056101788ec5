import { copyFileSync, readdirSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import {
  DISK_IMAGE,
  Publisher,
  UNREACHABLE_URL,
  WITHOUT_SERVER,
  type RunOptions,
} from '../../support/processes/cli-harness.js';
import { startFakeServer } from '../../manifest/fake-manifest-server.js';

/** More than 366 days, the longest usual time until an expiry or a minimum, even if midnight passes during the tests. */
const IN_368_DAYS = new Date(Date.now() + 368 * 86_400_000).toISOString().slice(0, 10);
const IN_365_DAYS = new Date(Date.now() + 365 * 86_400_000).toISOString().slice(0, 10);
const MINIMUM = ['--minimum-license-expiry', '2027-01-04'];

const publisher = await Publisher.at(UNREACHABLE_URL);
writeFileSync(publisher.file('Next.dmg'), `${DISK_IMAGE.replace('image', 'other')}`);
writeFileSync(publisher.file('App.zip'), 'PK'.padEnd(2_000, '.'));
/** The file of the live manifest: 1.0.0, for licenses that expire not before 2027. */
const live: string = publisher.writeDocument(
  'live.json',
  await publisher.sign('1.0.0', '--first', ...MINIMUM),
);

const sign = (version: string, image: string, args: string[], env: RunOptions['env'] = {}) =>
  publisher.run(
    [
      'manifest',
      'sign',
      '--dmg',
      image,
      '--version',
      version,
      '--url',
      'https://dl.example.com/App.dmg',
      '--json',
      ...args,
    ],
    { env: { ...WITHOUT_SERVER, ...env } },
  );
const signNext = (image: string, ...args: string[]) =>
  sign('1.1.0', image, ['--previous', live, '--key', 'two.pem', ...args]);

describe('sign refuses, and signs with the option that the refusal names:', () => {
  const cases: [what: string, option: string, sentence: string, image: string, args: string[]][] = [
    [
      'the image of the live version for a new version',
      '--again',
      'This image is that of version 1.0.0, which is published already: version 1.1.0 needs the image of its own build.',
      'App.dmg',
      MINIMUM,
    ],
    [
      'a file that is no disk image',
      '--any-format',
      'The file of version 1.1.0 is not a disk image: a .dmg ends with a block that begins with koly.',
      'App.zip',
      MINIMUM,
    ],
    [
      'a version for everyone after one with a minimum',
      '--for-everyone',
      'Version 1.1.0 would be for everyone, and the live version 1.0.0 is only for licenses that expire not before 2027-01-04T00:00:00Z: without --minimum-license-expiry, no license needs a renewal for it, and a minimum cannot be added later.',
      'Next.dmg',
      [],
    ],
    [
      'a minimum below that of the live version',
      '--low-minimum',
      'Version 1.1.0 would be for licenses that expire not before 2026-01-04T00:00:00Z, and the live version 1.0.0 only for those that expire not before 2027-01-04T00:00:00Z: a minimum cannot be raised later.',
      'Next.dmg',
      ['--minimum-license-expiry', '2026-01-04'],
    ],
    [
      'a minimum over a year ahead',
      '--high-minimum',
      `Version 1.1.0 would be only for licenses that expire not before ${IN_368_DAYS}T00:00:00Z, over a year ahead: copies of it would stop on every other license, also on one that is bought today for a year.`,
      'Next.dmg',
      ['--minimum-license-expiry', IN_368_DAYS],
    ],
    [
      'an expiry over a year ahead',
      '--long-expiry',
      `The manifest would expire at ${IN_368_DAYS}T00:00:00Z, over a year ahead: until then, an attacker can offer clients this version in place of later ones.`,
      'Next.dmg',
      [...MINIMUM, '--expires', IN_368_DAYS],
    ],
  ];

  test.each(cases)('%s (%s)', async (_what, option, sentence, image, args) => {
    const files = readdirSync(publisher.dir);
    for (const way of [[], ['--dry-run'], ['--out', 'refused.json']]) {
      const refused = await signNext(image, ...args, ...way);
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr.split('\n').at(-2)).toBe(`${sentence} To do this nevertheless, add ${option}.`);
    }
    expect(readdirSync(publisher.dir)).toEqual(files);
    expect(await signNext(image, ...args, option)).toMatchObject({ code: 0, json: { version: '1.1.0' } });
  });

  test('the live version with its image again (--again), which refresh is for', async () => {
    const args = ['--previous', live, '--key', 'two.pem', ...MINIMUM];
    // `1.0` is the same version (docs/contract.md#versions).
    for (const version of ['1.0.0', '1.0']) {
      const refused = await sign(version, 'App.dmg', args);
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toContain(
        `Version ${version} is published already with this image: manifest refresh gives it a later expiry. To do this nevertheless, add --again.\n`,
      );
    }
    expect(await sign('1.0.0', 'App.dmg', [...args, '--again'])).toMatchObject({ code: 0 });
  });

  test('an image of an older version that is still offered (--again)', async () => {
    const later = ['--previous', live, '--key', 'two.pem', '--minimum-license-expiry', '2028-01-04'];
    const next = await sign('1.1.0', 'Next.dmg', [...later, '--high-minimum']);
    const args = ['--previous', publisher.writeDocument('next.json', next.json), '--key', 'two.pem'];
    const refused = await sign('1.2.0', 'App.dmg', [...args, '--for-everyone']);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('This image is that of version 1.0.0, which is published already');
    const named = [...args, '--for-everyone', '--again'];
    expect(await sign('1.2.0', 'App.dmg', named)).toMatchObject({ code: 0, json: { version: '1.2.0' } });
  });

  test('a key that MANIFEST_PUBLIC_KEYS lacks, unless --public-key names it', async () => {
    copyFileSync(publisher.file('two.pem'), publisher.file('mistaken.pem'));
    const args = ['--first', '--key', 'mistaken.pem'];
    const env = { MANIFEST_PUBLIC_KEYS: publisher.publicKeyOfOne };
    const refused = await sign('1.0.0', 'App.dmg', args, env);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(
      /^mistaken\.pem is a key that MANIFEST_PUBLIC_KEYS lacks \(id [\w-]{43}\): [^\n]+\n$/,
    );
    expect(refused.stderr).toContain(`add --public-key ${publisher.publicKeyOfTwo}.\n`);
    const named = [...args, '--public-key', publisher.publicKeyOfTwo];
    expect(await sign('1.0.0', 'App.dmg', named, env)).toMatchObject({ code: 0 });
  });
});

test('sign needs no option for an image with a koly block, and an expiry and a minimum in a year', async () => {
  const minimum = ['--minimum-license-expiry', IN_365_DAYS];
  const run = await signNext('Next.dmg', ...minimum, '--expires', IN_365_DAYS);
  expect(run).toMatchObject({ code: 0, json: { version: '1.1.0' } });
});

test('sign refuses --for-everyone with a minimum', async () => {
  expect(await signNext('Next.dmg', ...MINIMUM, '--for-everyone')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--for-everyone'),
  });
});

test('without MANIFEST_PUBLIC_KEYS the keys that PUBLIC_URL lists count, and without both each key must be named', async () => {
  const keys = [
    { kty: 'OKP', crv: 'Ed25519', x: publisher.publicKeyOfTwo, for: 'update-manifest' },
    { kty: 'OKP', crv: 'Ed25519', x: publisher.publicKeyOfOne, for: 'license-token' },
  ];
  const server = await startFakeServer((response) => void response.end(JSON.stringify({ keys })));
  const signWith = (key: string, PUBLIC_URL: string) =>
    sign('1.0.0', 'App.dmg', ['--first', '--key', key], { MANIFEST_PUBLIC_KEYS: undefined, PUBLIC_URL });
  expect(await signWith('two.pem', server.url)).toMatchObject({ code: 0 });
  await publisher.json(['manifest', 'keygen', '--no-passphrase', '--out', 'three.pem']);
  const unlisted = await signWith('three.pem', server.url);
  expect(unlisted).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`that ${server.url}/v1/keys lacks`),
  });
  const unreachable = await signWith('two.pem', UNREACHABLE_URL);
  expect(unreachable).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`${UNREACHABLE_URL}/v1/keys lacks`),
  });
  const unset = await signWith('two.pem', '');
  expect(unset).toMatchObject({ code: 1, stderr: expect.stringContaining('MANIFEST_PUBLIC_KEYS lacks') });
});
