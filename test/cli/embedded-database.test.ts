import type { ChildProcess } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { DISK_IMAGE, MAIN, PUBLISH, Terminal } from '../support/processes/cli-harness.js';
import { freePort } from '../support/processes/server-process.js';

/** Runs the commands with the settings of development, and so with the embedded database. */
const terminal = new Terminal({});

describe('with the embedded database', () => {
  test('a command starts the database if no server runs, and then stops it', async () => {
    const { license_id, license_key } = await terminal.json([
      'license',
      'issue',
      '--email',
      'ada@example.com',
    ]);
    expect(existsSync(terminal.file('data/postgres/postmaster.pid'))).toBe(false);
    expect((await terminal.json(['license', 'show', license_key])).license_id).toBe(license_id);
  });

  test('status creates no token keys, and does not warn that there are none', async () => {
    const { token_keys, warnings } = await terminal.json(['status']);
    expect(token_keys).toEqual([]);
    expect(warnings).not.toContainEqual(expect.stringContaining('ring.json'));
    expect(existsSync(terminal.file('data/keys/tokens'))).toBe(false);
  });

  test('a command uses the database of a running server, which then serves the published manifest', async () => {
    const env = { PORT: String(await freePort()), PUBLIC_URL: undefined };
    const server = terminal.start(MAIN, [], env);
    const ended = new Promise((resolve) => server.once('exit', resolve));
    try {
      await untilPrinted(server, 'Mooring is ready');
      writeFileSync(terminal.file('App.dmg'), DISK_IMAGE);
      const image = ['--dmg', 'App.dmg', '--version', '1.1.0', '--url', 'https://dl.example.com/App.dmg'];
      const signed = await terminal.run(['manifest', 'sign', ...image, '--first', '--json'], { env });
      const publish = [...PUBLISH, '-'];
      const published = await terminal.json(publish, { env, stdin: signed.stdout });
      expect(published).toMatchObject({ version: '1.1.0', sequence: 1, served: true });
      expect((await terminal.json(['status'], { env })).manifest).toMatchObject({ version: '1.1.0' });
    } finally {
      server.kill('SIGTERM');
      expect(await ended).toBe(0);
    }
  });
});

/** Resolves once the program has printed these words on standard error. */
function untilPrinted(child: ChildProcess, words: string): Promise<void> {
  let output = '';
  return new Promise((resolve, reject) => {
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (output.includes(words)) resolve();
    });
    child.once('exit', () => reject(new Error(`The program ended too early. It printed: ${output}`)));
    child.stdout!.resume();
  });
}
