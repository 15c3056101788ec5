import { hash } from 'node:crypto';
import { appendFileSync, readFileSync, renameSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { readImage } from '../../src/cli/manifest/image.js';
import { publicKeyFromX } from '../../src/keys/ed25519/ed25519.js';
import {
  parseSigned,
  trustedKeys,
  verifyManifest,
  type ManifestContent,
} from '../../src/keys/manifests/signed-manifest.js';
import {
  DISK_IMAGE,
  WITHOUT_SERVER,
  imageUrl,
  UNREACHABLE_URL,
  PASSPHRASE,
  Publisher,
  signArgs,
  signArgsWithoutKey,
} from '../support/processes/cli-harness.js';
import { serveDocument } from '../manifest/fake-manifest-server.js';
import { createDatabase } from '../support/harness.js';
import { DAY_MS } from '../../src/core/clock.js';

const database = await createDatabase();
const publisher = await Publisher.at(database.url, { hasKeygenKey: true });

describe('sign', () => {
  test('prints the first manifest with neither server nor database', async () => {
    const document = await publisher.sign('1.0.0', '--first', '--minimum-license-expiry', '2027-01-04');
    const content = verifyManifest(document, trustedKeys([publicKeyFromX(publisher.publicKeyOfTwo)]));
    expect(content).toEqual({
      _type: 'update-manifest/v1',
      product: 'com.example.app',
      sequence: 1,
      issued_at: expect.any(String),
      expires_at: expect.any(String),
      version: '1.0.0',
      dmg: { url: imageUrl('1.0.0'), size: DISK_IMAGE.length, sha256: hash('sha256', DISK_IMAGE) },
      minimum_license_expiry: '2027-01-04T00:00:00Z',
      also_available: [],
      previous: null,
    });
    expect(Date.parse(content.expires_at) - Date.parse(content.issued_at)).toBe(90 * DAY_MS);
  });

  test('continues the live manifest from a file, a URL or the database, and prints where it is from', async () => {
    const first = await publisher.sign('1.0.0', '--first');
    const expectContinued = (content: ManifestContent) => {
      expect(content).toMatchObject({ sequence: 2, previous: hash('sha256', first.signed) });
      expect(content.also_available.map(({ version }) => version)).toEqual(['1.0.0']);
    };
    const args = signArgs('1.1.0', '--minimum-license-expiry', '2027-01-04', '--json');
    const firstFile = publisher.writeDocument('first.json', first);
    const fromFile = await publisher.run([...args, '--previous', firstFile], { env: WITHOUT_SERVER });
    expect(fromFile.stderr).toBe('The live manifest is from first.json: version 1.0.0, sequence 1.\n');
    expectContinued(parseSigned(fromFile.json.signed));

    const server = await serveDocument(first);
    const fromPublicUrl = await publisher.run(args, { env: { ...WITHOUT_SERVER, PUBLIC_URL: server.url } });
    expect(fromPublicUrl.stderr).toContain(`from ${server.url}/v1/manifest: version 1.0.0`);
    expectContinued(parseSigned(fromPublicUrl.json.signed));
    const fromGivenUrl = await publisher.run([...args, '--previous', `${server.url}/any`], {
      env: WITHOUT_SERVER,
    });
    expectContinued(parseSigned(fromGivenUrl.json.signed));

    const otherDatabase = await createDatabase();
    const env = { DATABASE_URL: otherDatabase.url };
    await publisher.publish('first.json', { env });
    // A blank PUBLIC_URL counts as unset. The default address, at which a service answers here, is never used.
    const { port: PORT } = new URL(server.url);
    for (const PUBLIC_URL of [UNREACHABLE_URL, ' ', undefined]) {
      const fromDatabase = await publisher.run(args, { env: { ...env, PORT, PUBLIC_URL } });
      expect(fromDatabase.stderr).toContain('from the database: version 1.0.0');
      expectContinued(parseSigned(fromDatabase.json.signed));
    }
  });

  test('signs with each given key, and needs the passphrase of the encrypted one', async () => {
    const args = signArgs('1.0.0', '--first', '--key', 'one.pem', '--passphrase-fd', '3');
    const { signatures } = await publisher.json(args, { env: WITHOUT_SERVER, fd3: `${PASSPHRASE}\n` });
    expect(signatures).toHaveLength(2);
    const wrong = await publisher.run([...args, '--json'], { env: WITHOUT_SERVER, fd3: 'wrong horse' });
    expect(wrong).toMatchObject({ code: 1, stdout: '' });
    expect(wrong.stderr).toBe(
      `The passphrase does not open ${publisher.file('one.pem')}, or the file is damaged.\n`,
    );
    const withoutTerminal = await publisher.run(signArgs('1.0.0', '--first', '--key', 'one.pem'), {
      env: WITHOUT_SERVER,
    });
    expect(withoutTerminal).toMatchObject({ code: 1, stderr: expect.stringContaining('no terminal') });
  });

  test('in development signs with the key that the server trusts; in production --key is necessary', async () => {
    const env = { MANIFEST_PUBLIC_KEYS: undefined };
    const args = signArgsWithoutKey('1.0.0', '--first', '--out', 'development.json');
    const run = await publisher.run(args, { env });
    expect(run).toMatchObject({ code: 0, stdout: expect.stringContaining('Written to  ') });
    expect((await publisher.run(['manifest', 'verify', 'development.json'], { env })).code).toBe(0);
    // The arguments without --out.
    const production = await publisher.run(args.slice(0, -2), { env: { ...env, NODE_ENV: 'production' } });
    expect(production).toMatchObject({ code: 2, stderr: '--key must name the key to sign with.\n' });
  });

  test('writes the document to --out, which is never overwritten, or to standard output', async () => {
    const { code, stdout } = await publisher.run(signArgs('1.0.0', '--first', '--out', 'out.json'), {
      env: WITHOUT_SERVER,
    });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^Version +1\.0\.0 of /) });
    expect(JSON.parse(readFileSync(publisher.file('out.json'), 'utf8'))).toMatchObject({ version: '1.0.0' });
    const again = await publisher.run(signArgs('1.0.0', '--first', '--out', 'out.json'), {
      env: WITHOUT_SERVER,
    });
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('never overwritten') });
    const plain = await publisher.run(signArgs('1.0.0', '--first'), { env: WITHOUT_SERVER });
    expect(plain.json).toMatchObject({ version: '1.0.0' });
    expect(plain.stderr).toMatch(/^Version +1\.0\.0 of /);
  });

  test('refuses a live manifest that no known key has signed, unless --public-key names the key', async () => {
    const keygen = ['manifest', 'keygen', '--no-passphrase', '--out', 'untrusted.pem'];
    const { public_key } = await publisher.json(keygen);
    const key = ['--key', 'untrusted.pem', '--public-key', public_key as string];
    const document = await publisher.json(signArgsWithoutKey('1.0.0', '--first', ...key), {
      env: WITHOUT_SERVER,
    });
    const built = signArgs(
      '1.1.0',
      '--previous',
      publisher.writeDocument('untrusted.json', document),
      '--json',
    );
    const refused = await publisher.run(built, { env: WITHOUT_SERVER });
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('signed by no trusted key');
    expect((await publisher.run([...built, '--public-key', public_key], { env: WITHOUT_SERVER })).code).toBe(
      0,
    );
  });

  test('refuses to sign a manifest that the server would refuse', async () => {
    const first = publisher.writeDocument(
      'live.json',
      await publisher.sign('1.0.0', '--first', '--minimum-license-expiry', '2027-01-04'),
    );
    const signNext = async (version: string, ...moreArgs: string[]) =>
      publisher.run(signArgs(version, '--previous', first, '--json', ...moreArgs), { env: WITHOUT_SERVER });
    expect((await signNext('0.9.0')).stderr).toContain('The live version is 1.0.0; this one is 0.9.0');
    expect((await signNext('1.0.0', '--minimum-license-expiry', '2028-01-04')).stderr).toContain(
      'cannot be raised',
    );
    const other = await publisher.run(signArgs('1.1.0', '--previous', first), {
      env: { ...WITHOUT_SERVER, PRODUCT: 'other' },
    });
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('PRODUCT is other') });
  });

  test.each([
    [1, /\/v1\/manifest does not answer\.$/, []],
    [1, /nonsense does not exist\.$/, ['--previous', 'nonsense']],
    [1, /App\.dmg is not a manifest\.$/, ['--previous', 'App.dmg']],
    [1, /does not answer\.$/, ['--previous', `${UNREACHABLE_URL}/v1/manifest`]],
    [1, /App\.dmg is not an Ed25519 private key in PEM\.$/, ['--first', '--key', 'App.dmg']],
    [1, /gone\.dmg does not exist\.$/, ['--first', '--dmg', 'gone.dmg']],
    [
      1,
      /x\.json cannot be written, because its folder does not exist\.$/,
      ['--first', '--out', 'gone/x.json'],
    ],
    [2, /^--key names the same key twice\.$/, ['--first', '--key', 'two.pem']],
    [2, /'--first' cannot be used with .*'--previous/, ['--first', '--previous', 'x']],
    [2, /^--version must be one to four dotted numbers/, ['--first', '--version', '1.0-beta']],
    [2, /^--url must be an https URL\.$/, ['--first', '--url', 'http://example.com/a']],
    [2, /^--url must be an https URL\.$/, ['--first', '--url', 'https:///example.com/a']],
    [2, /^--expires must be in the future\.$/, ['--first', '--expires', '2020-01-01']],
    [2, /^--minimum-license-expiry must be a day/, ['--first', '--minimum-license-expiry', 'soon']],
    [2, /^--public-key must be an Ed25519 public key/, ['--first', '--public-key', 'x']],
  ])('refuses with exit code %d: %s', async (code, sentence, moreArgs) => {
    const run = await publisher.run(signArgs('1.0.0', '--json', ...moreArgs), { env: WITHOUT_SERVER });
    expect({ code: run.code, stdout: run.stdout }).toEqual({ code, stdout: '' });
    expect(run.stderr.trim()).toMatch(sentence);
    expect(run.stderr).toMatch(/^[^\n]+\n$/);
  });
});

describe('a DMG', () => {
  const changes: [string, (file: string) => void][] = [
    ['grows', (file) => appendFileSync(file, 'more')],
    ['is cut short', (file) => truncateSync(file, 1)],
    ['gets another modification time', (file) => utimesSync(file, 1, 1)],
    ['is replaced', (file) => (writeFileSync(`${file}.new`, 'another'), renameSync(`${file}.new`, file))],
  ];

  test.each(changes)('that %s while it is read is refused', async (_how, change) => {
    const file = publisher.file('changing.dmg');
    // The image has 3 MiB. It is read in chunks of 1 MiB, and changes after the first one.
    writeFileSync(file, Buffer.alloc(3 << 20));
    let chunks = 0;
    const reading = readImage(file, () => void (chunks++ === 0 && change(file)));
    await expect(reading).rejects.toThrow('changed while it was read');
  });

  test('that is empty or a folder is refused', async () => {
    writeFileSync(publisher.file('empty.dmg'), '');
    await expect(readImage(publisher.file('empty.dmg'), () => undefined)).rejects.toThrow('is empty');
    await expect(readImage(publisher.dir, () => undefined)).rejects.toThrow('is not a file');
  });
});
