import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import { Command } from 'commander';
import { manifestCommands } from '../../../src/cli/manifest/manifest.js';
import {
  WITHOUT_SERVER,
  CLI,
  UNREACHABLE_URL,
  PASSPHRASE,
  Publisher,
  signArgsWithoutKey,
} from '../../support/processes/cli-harness.js';
import { testWith } from '../../support/processes/test-with.js';
import { expectVerifiedByOpenssl } from '../../manifest/openssl-verification.js';

/*
 * These keys are encrypted with PBKDF2, which `keygen` used before scrypt and which must still work. test/cli/sign.test.ts
 * signs with a key that `keygen` encrypts.
 */

const OTHER_PASSPHRASE = 'battery staple';

const publisher = await Publisher.at(UNREACHABLE_URL);
/** The public half of `other.pem`. */
const other = publisher.writeEncryptedKey('other.pem', OTHER_PASSPHRASE);

const sign = (fd3: string, ...keys: string[]) =>
  publisher.run(
    signArgsWithoutKey(
      '1.0.0',
      '--first',
      '--passphrase-fd',
      '3',
      '--json',
      '--public-key',
      other,
      ...keys.flatMap((key) => ['--key', key]),
    ),
    { env: WITHOUT_SERVER, fd3 },
  );
const wrongPassphrase = (file: string) =>
  `The passphrase does not open ${publisher.file(file)}, or the file is damaged.\n`;

/** A module with which a program writes a line to standard error after it has begun to read standard input, which has no data. */
const SAYS_WHEN_IT_READS = `
  const { get } = Object.getOwnPropertyDescriptor(process, 'stdin');
  Object.defineProperty(process, 'stdin', {
    get() {
      const stdin = get.call(process);
      stdin.once('newListener', () => setImmediate(() => console.error('reads')));
      return stdin;
    },
  });`;

describe('--passphrase-fd', () => {
  test('reads a line for each encrypted key, in the order of the keys', async () => {
    const run = await sign(`${PASSPHRASE}\r\n${OTHER_PASSPHRASE}\r\n`, 'one.pem', 'two.pem', 'other.pem');
    expect(run).toMatchObject({ code: 0, stderr: '' });
    await expectVerifiedByOpenssl(run.json, publisher.publicKeyOfOne, publisher.publicKeyOfTwo, other);
  });

  test('reads a single line for all encrypted keys', async () => {
    const same = publisher.writeEncryptedKey('same.pem', OTHER_PASSPHRASE);
    publisher.env['MANIFEST_PUBLIC_KEYS'] += `,${same}`;
    const run = await sign(OTHER_PASSPHRASE, 'same.pem', 'two.pem', 'other.pem');
    await expectVerifiedByOpenssl(run.json, same, publisher.publicKeyOfTwo, other);
  });

  test.each([
    ['lines in the wrong order', `${OTHER_PASSPHRASE}\n${PASSPHRASE}`, 'one.pem'],
    ['a wrong second line', `${PASSPHRASE}\n${PASSPHRASE}`, 'other.pem'],
    ['one line for keys with two passphrases', PASSPHRASE, 'other.pem'],
    ['an additional space', `${PASSPHRASE} \n${OTHER_PASSPHRASE}`, 'one.pem'],
  ])('%s is refused, and the error names the key', async (_what, fd3, file) => {
    expect(await sign(fd3, 'one.pem', 'other.pem')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: wrongPassphrase(file),
    });
  });

  test('two lines for three encrypted keys are refused', async () => {
    publisher.writeEncryptedKey('third.pem', OTHER_PASSPHRASE);
    const run = await sign(`${PASSPHRASE}\n${OTHER_PASSPHRASE}`, 'one.pem', 'other.pem', 'third.pem');
    const stderr = 'The file descriptor 3 has fewer lines than there are encrypted keys.\n';
    expect(run).toMatchObject({ code: 1, stdout: '', stderr });
  });

  test('a damaged or incomplete file is not reported as a wrong passphrase', async () => {
    const pem = readFileSync(publisher.file('one.pem'), 'utf8');
    const lines = pem.split('\n');
    for (const damaged of [
      pem.slice(0, pem.length / 2),
      pem.slice(0, -4),
      lines.toSpliced(2, 1).join('\n'),
      lines.toSpliced(2, 0, '').join('\n'),
    ]) {
      writeFileSync(publisher.file('damaged.pem'), damaged);
      expect(await sign(PASSPHRASE, 'damaged.pem')).toMatchObject({
        code: 1,
        stdout: '',
        stderr: `${publisher.file('damaged.pem')} is damaged or incomplete: copy it again.\n`,
      });
    }
  });

  test('an empty line is refused as a passphrase', async () => {
    const run = await sign(`\n${OTHER_PASSPHRASE}`, 'one.pem', 'other.pem');
    expect(run).toMatchObject({ code: 1, stdout: '', stderr: 'The passphrase is empty.\n' });
  });
});

test('--passphrase-fd 0 waits for a program that writes the passphrase later, such as a password manager', async () => {
  const args = signArgsWithoutKey('1.0.0', '--first', '--key', 'one.pem', '--passphrase-fd', '0', '--json');
  const NODE_OPTIONS = `--import "data:text/javascript,${encodeURIComponent(SAYS_WHEN_IT_READS)}"`;
  const command = publisher.start(CLI, args, { ...WITHOUT_SERVER, NODE_OPTIONS });
  const ended = once(command, 'close');
  command.stdio[3]!.destroy();
  const output = text(command.stdout!);
  // A command that does not wait ends before it has written this.
  await Promise.race([once(command.stderr!, 'data'), ended]);
  command.stdin!.end(`${PASSPHRASE}\n`);
  expect(await ended).toEqual([0, null]);
  await expectVerifiedByOpenssl(JSON.parse(await output), publisher.publicKeyOfOne);
});

test('no option has a passphrase as its value, because every user of the machine could see it', async () => {
  const manifest = new Command('manifest');
  manifestCommands(manifest);
  const options = manifest.commands.flatMap((command) => command.options);
  expect([...new Set(options.map(({ flags }) => flags).filter((flags) => /pass/.test(flags)))]).toEqual([
    '--passphrase-fd <n>',
    '--no-passphrase',
  ]);
  for (const [option, sentence] of [
    ['--passphrase', /^Unknown option '--passphrase'/],
    ['--passphrase-fd', /^--passphrase-fd must be an open file descriptor/],
  ] as const) {
    const run = await publisher.run(
      signArgsWithoutKey('1.0.0', '--first', '--key', 'one.pem', option, PASSPHRASE),
      {
        env: WITHOUT_SERVER,
      },
    );
    expect(run).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(sentence) });
    expect(run.stderr).not.toContain(PASSPHRASE);
  }
});

testWith('script')(
  'at a terminal sign asks for passphrases without echo, and to confirm an unusual key or image by typing its name or version',
  () => {
    writeFileSync(publisher.file('Large.dmg'), Buffer.alloc(4 << 20));
    const image = ['--dmg', 'Large.dmg', '--version', '1.0', '--url', 'https://dl.example.com/a', '--first'];
    const keys = ['--key', 'one.pem', '--key', 'other.pem', '--out', 'typed.json'];
    // MANIFEST_PUBLIC_KEYS lacks other.pem, and the file has only zeros, so it is no disk image: the last two lines confirm this.
    const { code, shown } = publisher.runInTerminal(['manifest', 'sign', ...image, ...keys], {
      question: 'Passphrase of',
      typed: `${PASSPHRASE}\r${OTHER_PASSPHRASE}\rother.pem\r1.0\r`,
      env: { ...WITHOUT_SERVER, MANIFEST_PUBLIC_KEYS: publisher.publicKeyOfOne },
    });
    expect(code).toBe(0);
    // The image has 4 MiB. The bar is drawn after each MiB, and removed after the last.
    const bar = (percent: number) =>
      `\rLarge.dmg  ${'━'.repeat(Math.floor(percent * 0.3)).padEnd(30)} ${String(percent).padStart(3)} %`;
    const progress = `${bar(25)}${bar(50)}${bar(75)}\r\u001b[K`;
    expect(shown).toContain(progress);
    expect(shown.replace(progress, '').replaceAll('\r', '')).toMatch(
      new RegExp(
        '^Passphrase of .*one\\.pem: \nPassphrase of .*other\\.pem: \n' +
          'other\\.pem is a key that MANIFEST_PUBLIC_KEYS lacks .*\nType other\\.pem to do this nevertheless: ' +
          'The file of version 1\\.0 is not a disk image: .*\nType 1\\.0 to do this nevertheless: Version +1\\.0 of ',
      ),
    );
    expect(shown).not.toContain(PASSPHRASE);
    expect(shown).not.toContain(OTHER_PASSPHRASE);
  },
);
