import { spawnSync } from 'node:child_process';
import { createPrivateKey, randomBytes } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { manifestBytes, parseSigned, signManifest } from '../../../src/keys/manifests/signed-manifest.js';
import { LONG_PASSPHRASE, WEAK_PASSPHRASE } from '../../../src/cli/terminal/passphrase-strength.js';
import {
  WITHOUT_SERVER,
  UNREACHABLE_URL,
  PASSPHRASE,
  Publisher,
  PUBLISH,
  signArgs,
} from '../../support/processes/cli-harness.js';
import { testWith } from '../../support/processes/test-with.js';
import { createDatabase } from '../../support/harness.js';

const database = await createDatabase();
const publisher = await Publisher.at(database.url, { hasKeygenKey: true });

describe('keygen', () => {
  const file = (name: string) => publisher.file(name);

  test('writes keys that only their owner can read, and encrypts one', () => {
    expect(statSync(file('one.pem')).mode & 0o777).toBe(0o600);
    expect(statSync(file('two.pem')).mode & 0o777).toBe(0o600);
    expect(readFileSync(file('one.pem'), 'utf8')).toMatch(/^-----BEGIN ENCRYPTED PRIVATE KEY-----\n/);
  });

  testWith('openssl')('writes an encrypted key that openssl decrypts with the passphrase alone', () => {
    const open = (passphrase: string) =>
      spawnSync('openssl', ['pkey', '-in', file('one.pem'), '-passin', `pass:${passphrase}`, '-noout']);
    expect(open(PASSPHRASE).status).toBe(0);
    expect(open('wrong').status).not.toBe(0);
  });

  test('derives the encryption key from the passphrase with scrypt', () => {
    const base64 = readFileSync(file('one.pem'), 'utf8').split('\n').slice(1, -2).join('');
    const scrypt = Buffer.from('2b06010401da47040b', 'hex'); // 1.3.6.1.4.1.11591.4.11 (RFC 7914)
    expect(Buffer.from(base64, 'base64').includes(scrypt)).toBe(true);
  });

  test('refuses a weak passphrase: prints the rule and writes no file', async () => {
    const keygen = ['manifest', 'keygen', '--out', 'weak.pem', '--passphrase-fd', '3'];
    const run = await publisher.run(keygen, { env: WITHOUT_SERVER, fd3: 'Password1234' });
    expect(run).toMatchObject({ code: 1, stdout: '', stderr: `${WEAK_PASSPHRASE}\n` });
    expect(WEAK_PASSPHRASE).toMatch(/at least 12 characters/);
    expect(() => statSync(file('weak.pem'))).toThrow('ENOENT');
  });

  test('accepts no passphrase that is so long that Mooring or OpenSSL could not open the key', async () => {
    const keygen = (passphrase: string) =>
      publisher.run(['manifest', 'keygen', '--out', 'long.pem', '--passphrase-fd', '3'], {
        env: WITHOUT_SERVER,
        fd3: passphrase,
      });
    // A character of two bytes: the limit is in bytes.
    const longest = `ü${randomBytes(511).toString('hex').slice(1)}`;
    expect(await keygen(`${longest}x`)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `${LONG_PASSPHRASE}\n`,
    });
    expect(() => statSync(file('long.pem'))).toThrow('ENOENT');
    expect(await keygen(longest)).toMatchObject({ code: 0 });
    expect(createPrivateKey({ key: readFileSync(file('long.pem')), passphrase: longest }).type).toBe(
      'private',
    );
  });

  test('refuses to overwrite a file, before it asks for a passphrase', async () => {
    const before = readFileSync(file('one.pem'));
    const run = await publisher.run(['manifest', 'keygen', '--out', 'one.pem'], { env: WITHOUT_SERVER });
    expect(run).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `${file('one.pem')} exists already, and is never overwritten.\n`,
    });
    expect(readFileSync(file('one.pem'))).toEqual(before);
  });

  test.each([
    [1, 'There is no terminal to ask for the passphrase: use --passphrase-fd.', []],
    [1, 'The passphrase is empty.', ['--passphrase-fd', '3']],
    [1, 'No passphrase can be read from the file descriptor 99 (EBADF).', ['--passphrase-fd', '99']],
    [2, '--passphrase-fd must be an open file descriptor: 0, 3 or above.', ['--passphrase-fd', '1']],
    [
      2,
      '--no-passphrase and --passphrase-fd exclude each other.',
      ['--no-passphrase', '--passphrase-fd', '3'],
    ],
  ])('refuses with exit code %d: %s', async (code, sentence, args) => {
    const run = await publisher.run(['manifest', 'keygen', '--out', 'three.pem', ...args], {
      env: WITHOUT_SERVER,
    });
    expect(run).toMatchObject({ code, stdout: '', stderr: `${sentence}\n` });
    expect(() => statSync(file('three.pem'))).toThrow('ENOENT');
  });

  testWith('script')('asks for the passphrase twice at a terminal, without echo', () => {
    const { code, shown } = publisher.runInTerminal(['manifest', 'keygen', '--out', 'typed.pem'], {
      question: 'Passphrase of',
      typed: `${PASSPHRASE}\r${PASSPHRASE}\r`,
      env: WITHOUT_SERVER,
    });
    expect(code).toBe(0);
    expect(shown.replaceAll('\r', '')).toMatch(
      /^Passphrase of the new key: \nRepeat the passphrase: \nPrivate key  .*typed\.pem \(encrypted\)\n/,
    );
  });
});

test('verify prints the signing keys, and refuses a manifest that is untrusted, changed or expired', async () => {
  const document = await publisher.sign('1.0.0', '--first');
  const verify = (changed: unknown, ...moreArgs: string[]) =>
    publisher.run(['manifest', 'verify', '-', '--json', ...moreArgs], {
      env: WITHOUT_SERVER,
      stdin: JSON.stringify(changed),
    });
  expect((await verify(document)).json).toEqual({
    signed_by: [document.key_id],
    not_verified: [],
    product: 'com.example.app',
    version: '1.0.0',
    sequence: 1,
    issued_at: expect.any(String),
    expires_at: expect.any(String),
  });
  expect(await verify(document, '--public-key', publisher.publicKeyOfTwo)).toMatchObject({ code: 0 });
  const refusals: [sentence: string, changed: unknown, ...moreArgs: string[]][] = [
    ['signed by no trusted key', document, '--public-key', publisher.publicKeyOfOne],
    ['its bytes were changed', { ...document, signed: document.signed.replace('1.0.0', '1.0.1') }],
    ['unsigned copy of version differs', { ...document, version: '1.0.1' }],
    ['unsigned copy of dmg_sha256 differs', { ...document, dmg_sha256: '0'.repeat(64) }],
    ['is not a manifest', { version: '1.0.0' }],
  ];
  for (const [sentence, changed, ...moreArgs] of refusals) {
    const run = await verify(changed, ...moreArgs);
    expect(run).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(sentence) });
  }
  const content = { ...parseSigned(document.signed), expires_at: '2020-02-01T00:00:00Z' };
  const past = manifestBytes({ ...content, issued_at: '2020-01-01T00:00:00Z' });
  const key = createPrivateKey(readFileSync(publisher.file('two.pem')));
  const expired = await verify(signManifest(past, [key]));
  expect(expired).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('expired at 2020-02-01'),
  });
  const keyless = { ...WITHOUT_SERVER, MANIFEST_PUBLIC_KEYS: undefined };
  expect(await publisher.run(['manifest', 'verify', '-'], { env: keyless })).toMatchObject({
    code: 2,
    stdout: '',
  });
});

test('publish makes a manifest the live one, show prints it, and a refused publication names its reason', async () => {
  const first = await publisher.sign('1.0.0', '--first');
  const published = await publisher.run([
    ...PUBLISH,
    publisher.writeDocument('1.json', first),
    '--json',
    '--as',
    'grace',
  ]);
  expect(published.json).toEqual({
    version: '1.0.0',
    sequence: 1,
    minimum_license_expiry: null,
    expires_at: parseSigned(first.signed).expires_at,
    served: false,
  });
  expect(published.stderr).toBe(
    `The manifest is published, but ${UNREACHABLE_URL}/v1/manifest does not answer.\n`,
  );
  expect(await publisher.json(['manifest', 'show'])).toEqual(first);
  // A publisher's machine lacks the settings that production requires of a service.
  const production = { env: { NODE_ENV: 'production', PUBLIC_URL: undefined } };
  expect(await publisher.json(['manifest', 'show'], production)).toEqual(first);
  expect((await publisher.run(['manifest', 'show'])).stdout).toMatch(
    /^Version +1\.0\.0 of com\.example\.app\n/,
  );
  // A publisher repeats a command whose answer was lost. It changes nothing, and only checks again what PUBLIC_URL serves.
  const again = await publisher.run([...PUBLISH, '1.json', '--json']);
  expect([again.json, again.stderr]).toEqual([published.json, published.stderr]);
  expect(
    (await publisher.json(['manifest', 'publish', '--no-fetch', '1.json', '--dry-run'])).changes,
  ).toEqual([]);
  const foreign = { env: { MANIFEST_PUBLIC_KEYS: publisher.publicKeyOfOne } };
  const untrusted = await publisher.run([...PUBLISH, '1.json', '--json'], foreign);
  expect(untrusted).toMatchObject({
    code: 1,
    stdout: '',
    stderr: 'The manifest is signed by no trusted key.\n',
  });

  const second = publisher.writeDocument(
    '2.json',
    await publisher.json(signArgs('1.1.0', '--minimum-license-expiry', '2027-01-04')),
  );
  const rival = publisher.writeDocument('rival.json', await publisher.json(signArgs('1.1.1')));
  expect(await publisher.publish(second)).toMatchObject({
    version: '1.1.0',
    sequence: 2,
  });
  const late = await publisher.run([...PUBLISH, rival]);
  expect(late).toMatchObject({
    code: 1,
    stdout: '',
    stderr: 'Another manifest is live now (sequence 2, version 1.1.0): sign again on top of it.\n',
  });
  const shown = await publisher.run(['manifest', 'show', second], { env: WITHOUT_SERVER });
  expect(shown.stdout).toContain('1.0.0 for everyone');
});
