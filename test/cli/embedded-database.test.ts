import { existsSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { DISK_IMAGE, PUBLISH, Terminal } from '../support/processes/cli-harness.js';
import { freePort, ServerProcess } from '../support/processes/server-process.js';

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

  test('a command uses the database and the port of a running server, which then serves the published manifest, and ends its database on SIGTERM', async () => {
    const PORT = String(await freePort());
    const env = { PUBLIC_URL: undefined };
    const server = await new ServerProcess({ PORT, DATA_DIR: terminal.file('data') }).ready();
    try {
      writeFileSync(terminal.file('App.dmg'), DISK_IMAGE);
      const image = ['--dmg', 'App.dmg', '--version', '1.1.0', '--url', 'https://dl.example.com/App.dmg'];
      const signed = await terminal.run(['manifest', 'sign', ...image, '--first', '--json'], { env });
      const publish = [...PUBLISH, '-'];
      const published = await terminal.json(publish, { env, stdin: signed.stdout });
      expect(published).toMatchObject({ version: '1.1.0', sequence: 1, served: true });
      expect((await terminal.json(['status'], { env })).manifest).toMatchObject({ version: '1.1.0' });
      await terminal.run(['staff', 'add', 'grace@example.com', '--role', 'support'], { env });
      const { link } = await terminal.json(['staff', 'link', 'grace@example.com'], { env });
      expect(link).toMatch(`http://localhost:${PORT}/support/#link=`);
    } finally {
      expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null });
    }
    for (const file of ['data/postgres.json', 'data/postgres/postmaster.pid'])
      expect([file, existsSync(terminal.file(file))]).toEqual([file, false]);
  });
});
