import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Command } from 'commander';
import { manifestCommands } from '../../../src/cli/manifest/manifest.js';
import { ALONE, CLI, NOWHERE, PASSPHRASE, Publisher, unkeyed } from '../../support/processes/cli-harness.js';
import { expectVerifiedElsewhere } from '../../manifest/openssl-verification.js';

/*
 * The keys are encrypted with PBKDF2, as keys were before scrypt, and still open. `cli-sign.test.ts` signs with a key that
 * `keygen` encrypted.
 */

const OTHER = 'battery staple';

let terminal: Publisher;
let other: string;
beforeAll(async () => {
  terminal = await Publisher.at(NOWHERE);
  other = terminal.writeEncryptedKey('other.pem', OTHER);
});
afterAll(() => terminal.close());

const sign = (fd3: string, ...keys: string[]) =>
  terminal.run(
    unkeyed('1.0.0', '--first', '--passphrase-fd', '3', '--json', ...keys.flatMap((key) => ['--key', key])),
    { env: ALONE, fd3 },
  );
const opensNot = (file: string) => `The passphrase does not open ${terminal.file(file)}.\n`;

describe('--passphrase-fd', () => {
  test('reads a line for each encrypted key, in the order of the keys', async () => {
    const run = await sign(`${PASSPHRASE}\r\n${OTHER}\r\n`, 'one.pem', 'two.pem', 'other.pem');
    expect(run).toMatchObject({ code: 0, stderr: '' });
    await expectVerifiedElsewhere(run.json, terminal.one, terminal.two, other);
  });

  test('reads a single line for all keys', async () => {
    const run = await sign(OTHER, 'two.pem', 'other.pem');
    await expectVerifiedElsewhere(run.json, terminal.two, other);
  });

  test.each([
    ['the lines the wrong way round', `${OTHER}\n${PASSPHRASE}`, 'one.pem'],
    ['a wrong second line', `${PASSPHRASE}\n${PASSPHRASE}`, 'other.pem'],
    ['one line for keys of two', PASSPHRASE, 'other.pem'],
    ['a space too many', `${PASSPHRASE} \n${OTHER}`, 'one.pem'],
  ])('%s decrypts no key, and the error names the key', async (_what, fd3, file) => {
    expect(await sign(fd3, 'one.pem', 'other.pem')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: opensNot(file),
    });
  });

  test('an empty line is no passphrase', async () => {
    const run = await sign(`\n${OTHER}`, 'one.pem', 'other.pem');
    expect(run).toMatchObject({ code: 1, stdout: '', stderr: 'The passphrase is empty.\n' });
  });
});

test('no option of any command takes a passphrase, which every user of the machine would see', async () => {
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
    const run = await terminal.run(unkeyed('1.0.0', '--first', '--key', 'one.pem', option, PASSPHRASE), {
      env: ALONE,
    });
    expect(run).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(sentence) });
    expect(run.stderr).not.toContain(PASSPHRASE);
  }
});

test('a terminal is asked for each key, sees the bar, without echo', () => {
  writeFileSync(terminal.file('Large.dmg'), Buffer.alloc(4 << 20));
  const image = ['--dmg', 'Large.dmg', '--version', '1.0', '--url', 'https://dl.example.com/a', '--first'];
  const keys = ['--key', 'one.pem', '--key', 'other.pem', '--out', 'typed.json'];
  const command = [process.execPath, CLI, 'manifest', 'sign', ...image, ...keys].join(' ');
  const { error, status, stdout } = spawnSync('script', ['-qec', command, '/dev/null'], {
    cwd: terminal.dir,
    env: { PATH: process.env['PATH'], DATA_DIR: '/nonexistent', PUBLIC_URL: NOWHERE },
    input: `${PASSPHRASE}\r${OTHER}\r`,
    encoding: 'utf8',
  });
  if (error) return; // no such program on this machine
  expect(status).toBe(0);
  // What comes before is the terminal's own echo of what was typed ahead of the question.
  const shown = stdout.slice(stdout.indexOf('Passphrase of'));
  const bar = (percent: number) =>
    `\rLarge.dmg  ${'━'.repeat(Math.floor(percent * 0.3)).padEnd(30)} ${String(percent).padStart(3)} %`;
  const whole = `${bar(25)}${bar(50)}${bar(75)}\r\u001b[K`;
  expect(shown).toContain(whole);
  expect(shown.replace(whole, '').replaceAll('\r', '')).toMatch(
    /^Passphrase of .*one\.pem: \nPassphrase of .*other\.pem: \nVersion +1\.0 of /,
  );
  expect(shown).not.toContain(PASSPHRASE);
  expect(shown).not.toContain(OTHER);
});
