import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import {
  manifestBytes,
  parseSigned,
  type SignedManifest,
} from '../../../src/keys/manifests/signed-manifest.js';
import {
  WITHOUT_SERVER,
  PASSPHRASE,
  Publisher,
  signArgsWithoutKey,
  type Run,
} from '../../support/processes/cli-harness.js';
import { createDatabase } from '../../support/harness.js';
import {
  expectInvalidAfterAnyChange,
  expectVerifiedByOpenssl,
  signWithOpenssl,
} from '../../manifest/openssl-verification.js';

const database = await createDatabase();
const publisher = await Publisher.at(database.url);
const keygen = ['manifest', 'keygen', '--no-passphrase', '--out', 'untrusted.pem'];
await publisher.json(keygen, { env: WITHOUT_SERVER });
const answer = await publisher.json(signArgsWithoutKey('1.0.0', '--first', '--prepare', 'prepared'), {
  env: WITHOUT_SERVER,
});
/** The text that `--prepare` wrote. openssl signs it with `one.pem` and with `two.pem`. */
const bytes = readFileSync(publisher.file('prepared'), 'utf8');
expect(answer).toEqual({ file: publisher.file('prepared'), bytes: Buffer.byteLength(bytes) });
writeSignature('one.sig', 'prepared', 'one.pem');
writeSignature('two.sig', 'prepared', 'two.pem');

/** Signs a file with openssl and writes the signature to another file. @returns the signature */
function writeSignature(signatureFile: string, signedFile: string, key = 'two.pem'): Buffer {
  const passphrase = key === 'one.pem' ? PASSPHRASE : undefined;
  const signature = signWithOpenssl(publisher.file(key), publisher.file(signedFile), passphrase);
  writeFileSync(publisher.file(signatureFile), signature);
  return signature;
}

const attach = (files: string[], prepared = 'prepared', ...moreArgs: string[]): Promise<Run> =>
  publisher.run(
    ['manifest', 'sign', '--prepared', prepared, ...files.flatMap((file) => ['--attach', file]), ...moreArgs],
    { env: WITHOUT_SERVER },
  );

test('--prepare writes exactly the bytes to be signed', () => {
  expect(bytes).toBe(manifestBytes(parseSigned(bytes)));
  expect(bytes).toMatch(/^\{"_type":.*\}$/);
  expect(parseSigned(bytes)).toMatchObject({ version: '1.0.0', sequence: 1, previous: null });
});

describe('--attach', () => {
  const encodings: [string, (raw: Buffer) => string | Buffer][] = [
    ['as raw bytes', (raw) => raw],
    ['in base64', (raw) => raw.toString('base64')],
    ['in base64, with a line end', (raw) => `${raw.toString('base64')}\r\n`],
    ['in base64, wrapped', (raw) => `${raw.toString('base64').replace(/.{64}/, '$&\n')}\n`],
    ['in base64url', (raw) => raw.toString('base64url')],
  ];
  test.each(encodings)('accepts a signature %s', async (_how, written) => {
    const raw = readFileSync(publisher.file('two.sig'));
    writeFileSync(publisher.file('encoded.sig'), written(raw));
    const { code, json, stderr } = await attach(['encoded.sig']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^Version +1\.0\.0 of /) });
    expect(json.signed).toBe(bytes);
    expect(json.signature).toBe(raw.toString('base64url'));
    await expectVerifiedByOpenssl(json, publisher.publicKeyOfTwo);
  });

  test('accepts one signature of each key, in the order of the options, and writes --out', async () => {
    const run = await attach(['two.sig', 'one.sig'], 'prepared', '--out', 'both.json');
    expect(run).toMatchObject({ code: 0, stderr: '' });
    const document = JSON.parse(readFileSync(publisher.file('both.json'), 'utf8')) as SignedManifest;
    await expectVerifiedByOpenssl(document, publisher.publicKeyOfTwo, publisher.publicKeyOfOne);
    await expectInvalidAfterAnyChange(document, publisher.publicKeyOfTwo);
    const again = await attach(['two.sig'], 'prepared', '--out', 'both.json');
    expect(again).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('never overwritten'),
    });
    expect(JSON.parse(readFileSync(publisher.file('both.json'), 'utf8'))).toEqual(document);
  });

  test('refuses a signature unless a key of --public-key or of the settings made it over exactly these bytes', async () => {
    writeFileSync(publisher.file('other'), bytes.replace('1.0.0', '1.0.1'));
    const ofOther = writeSignature('other.sig', 'other');
    writeSignature('untrusted.sig', 'prepared', 'untrusted.pem');
    writeFileSync(publisher.file('short.sig'), ofOther.subarray(1));
    writeFileSync(publisher.file('hex.sig'), ofOther.toString('hex'));
    writeFileSync(publisher.file('with-line-end'), `${bytes}\n`);
    writeSignature('with-line-end.sig', 'with-line-end');
    const wrongKeyOrBytes = (file: string) =>
      `The signature in ${file} fits no key of --public-key or of the settings, or it signs other bytes.\n`;
    const notASignature = (file: string) =>
      `${file} is not an Ed25519 signature. It must have 64 bytes, as raw bytes or as base64 or base64url text.\n`;
    const refusals: [sentence: string, code: number, files: string[], prepared?: string][] = [
      [wrongKeyOrBytes('other.sig'), 1, ['other.sig']],
      [wrongKeyOrBytes('untrusted.sig'), 1, ['untrusted.sig']],
      [wrongKeyOrBytes('other.sig'), 1, ['two.sig', 'other.sig']],
      [wrongKeyOrBytes('two.sig'), 1, ['two.sig'], 'other'],
      [wrongKeyOrBytes('two.sig'), 1, ['two.sig'], 'with-line-end'],
      [notASignature('short.sig'), 1, ['short.sig']],
      [notASignature('hex.sig'), 1, ['hex.sig']],
      ['--attach names two signatures of one key.\n', 2, ['two.sig', 'two.sig']],
      ['--prepared and --attach must be given together.\n', 2, []],
      // The signature is valid, but for a text to which an editor has added a line end.
      [
        'The member `signed` must be ASCII JSON without spaces, each member once and in its order.\n',
        1,
        ['with-line-end.sig'],
        'with-line-end',
      ],
      [`${publisher.file('gone')} does not exist.\n`, 1, ['two.sig'], 'gone'],
    ];
    for (const [sentence, code, files, prepared] of refusals) {
      expect(await attach(files, prepared)).toMatchObject({ code, stdout: '', stderr: sentence });
    }
  });
});

test.each([
  ['--dry-run'],
  ['--version', '2.0'],
  ['--expires', '2099-01-01'],
  ['--key', 'two.pem'],
  ['--prepare', 'x'],
])('--attach refuses %s, because --prepare has fixed the content', async (...moreArgs) => {
  const run = await attach(['two.sig'], 'prepared', '--out', 'unwritten.json', ...moreArgs);
  const sentence = `${moreArgs[0]} cannot be used with --attach, which only adds signatures to the prepared content.\n`;
  expect(run).toMatchObject({ code: 2, stdout: '', stderr: sentence });
  expect(() => readFileSync(publisher.file('unwritten.json'))).toThrow('ENOENT');
});

test('--prepare refuses an existing file, a key, another output and an invalid sequence', async () => {
  const before = readFileSync(publisher.file('prepared'));
  const sign = async (...moreArgs: string[]) =>
    publisher.run(signArgsWithoutKey('1.0.0', '--first', ...moreArgs), { env: WITHOUT_SERVER });
  const refusals: [number, RegExp, ...string[]][] = [
    [1, /prepared exists already, and is never overwritten\.$/, '--prepare', 'prepared'],
    [2, /^--prepare signs nothing: omit --key\.$/, '--prepare', 'new', '--key', 'two.pem'],
    [2, /^--prepare, --dry-run and --out exclude each other\.$/, '--prepare', 'new', '--out', 'x'],
    [2, /^--prepare, --dry-run and --out exclude each other\.$/, '--prepare', 'new', '--dry-run'],
    [2, /^--sequence must be a whole number/, '--prepare', 'new', '--sequence', '0'],
  ];
  for (const [code, sentence, ...moreArgs] of refusals) {
    const run = await sign(...moreArgs);
    expect(run).toMatchObject({ code, stdout: '' });
    expect(run.stderr.trim()).toMatch(sentence);
    expect(() => readFileSync(publisher.file('new'))).toThrow('ENOENT');
  }
  expect(readFileSync(publisher.file('prepared'))).toEqual(before);
});

test('two versions, a refresh and a withdrawal can be signed by another program', async () => {
  const published: SignedManifest[] = [];
  const step = async (args: string[], ...publishing: string[]) => {
    const name = `step${published.length}`;
    await publisher.json([...args, '--prepare', name]);
    writeSignature(`${name}.sig`, name);
    const { json } = await attach([`${name}.sig`], name);
    await expectVerifiedByOpenssl(json, publisher.publicKeyOfTwo);
    await publisher.publish(publisher.writeDocument(`${name}.json`, json), { args: publishing });
    published.push(json);
  };
  await step(signArgsWithoutKey('1.0.0', '--first', '--sequence', '41'));
  await step(signArgsWithoutKey('1.1.0'));
  await step(['manifest', 'refresh', '--expires', '2099-01-01', '--long-expiry']);
  await step(['manifest', 'withdraw'], '--withdraw');
  const contents = published.map(({ signed }) => parseSigned(signed));
  expect(contents.map(({ version, sequence }) => [version, sequence])).toEqual([
    ['1.0.0', 41],
    ['1.1.0', 42],
    ['1.1.0', 43],
    ['1.0.0', 44],
  ]);
  expect(await publisher.json(['manifest', 'show'])).toEqual(published.at(-1));
  // A line end after the text changes the bytes of the file, which are no longer the signed bytes.
  appendFileSync(publisher.file('step3'), '\n');
  expect(await attach(['step3.sig'], 'step3')).toMatchObject({ code: 1, stdout: '' });
});
