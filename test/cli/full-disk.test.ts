import { spawn } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { createKeyRing, KeyRing } from '../../src/keys/tokens/key-ring.js';
import {
  CLI,
  Publisher,
  UNREACHABLE_URL,
  WITHOUT_SERVER,
  signArgsWithoutKey,
} from '../support/processes/cli-harness.js';
import { baseEnvironment } from '../support/processes/server-process.js';

const publisher = await Publisher.at(UNREACHABLE_URL);

/** Runs a command that may not write a single byte to a file, as on a full disk. */
async function runOnFullDisk(args: readonly string[], settings: object = WITHOUT_SERVER) {
  const limited = ['-c', 'ulimit -f 0; exec "$0" "$@"', process.execPath, CLI, ...args];
  const { PATH } = process.env;
  const env = { ...baseEnvironment(), PATH, ...publisher.env, ...settings };
  const child = spawn('sh', limited, { cwd: publisher.dir, env, stdio: ['ignore', 'ignore', 'pipe'] });
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  return { code, stderr };
}

const filesBelow = () => readdirSync(publisher.dir, { recursive: true }).toSorted();

test.each<[string, string[], file: string]>([
  ['manifest keygen', ['manifest', 'keygen', '--no-passphrase', '--out', 'new.pem'], 'new.pem'],
  [
    'manifest sign',
    signArgsWithoutKey('1.0.0', '--first', '--key', 'two.pem', '--out', 'signed.json'),
    'signed.json',
  ],
  ['init', ['init', '.'], 'mooring.env'],
])('%s leaves no part of its file on a full disk, and works later', async (_command, args, file) => {
  const before = filesBelow();
  expect(await runOnFullDisk(args)).toEqual({
    code: 1,
    stderr: `${publisher.file(file)} cannot be used (EFBIG).\n`,
  });
  expect(filesBelow()).toEqual(before);
  expect(await publisher.run(args, { env: WITHOUT_SERVER })).toMatchObject({ code: 0 });
  expect(filesBelow()).toContain(file);
});

test('keys rotate and keys revoke name the cause on a full disk, change no key, and work later', async () => {
  const env = { ...WITHOUT_SERVER, TOKEN_KEYS_DIR: publisher.file('ring') };
  await createKeyRing(env.TOKEN_KEYS_DIR, new Date(Date.now() - 60_000));
  const { active } = await KeyRing.open(env.TOKEN_KEYS_DIR);
  writeFileSync(publisher.file('ring/ring.lock'), '');
  const before = filesBelow();
  for (const args of [['rotate'], ['revoke', '--', active.kid]]) {
    expect(await runOnFullDisk(['keys', ...args], env)).toEqual({
      code: 1,
      stderr: `${env.TOKEN_KEYS_DIR} cannot be written (EFBIG): the ring stays as it is.\n`,
    });
    expect(filesBelow()).toEqual(before);
  }
  expect(await publisher.run(['keys', 'rotate'], { env })).toMatchObject({ code: 0 });
});
