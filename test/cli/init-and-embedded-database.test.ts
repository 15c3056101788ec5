import { execFileSync, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { MAIN, Terminal } from '../support/processes/cli-harness.js';
import { freePort } from '../support/processes/server-process.js';

/** Runs the commands with the settings of development, and so with the embedded database. */
let terminal: Terminal;
beforeAll(() => void (terminal = new Terminal({})));
afterAll(() => terminal.close());

describe('init', () => {
  const production = {
    NODE_ENV: 'production',
    HOST: '0.0.0.0',
    DATABASE_URL: undefined,
    DATA_DIR: undefined,
  };

  test('creates the files of a production deployment, readable only by their owner', async () => {
    const dir = terminal.file('secrets');
    const settings = await terminal.json(['init', 'secrets'], { env: production });
    expect(settings).toEqual({
      NODE_ENV: 'production',
      LICENSE_KEY_SECRET: expect.stringMatching(/^[A-Za-z0-9+/]{43}=$/),
      TOKEN_KEYS_DIR: `${dir}/tokens`,
    });
    const env = readFileSync(`${dir}/mooring.env`, 'utf8');
    for (const [setting, value] of Object.entries(settings))
      expect(env).toContain(`${setting}=${String(value)}\n`);
    for (const name of ['DATABASE_URL', 'MANIFEST_PUBLIC_KEYS', 'PUBLIC_URL'])
      expect(env).toMatch(`\n# ${name}=`);
    const mode = (name: string) => (statSync(`${dir}/${name}`).mode & 0o777).toString(8);
    expect(['', 'tokens', 'mooring.env', 'tokens/ring.json'].map(mode)).toEqual(['700', '700', '600', '600']);
    const listed = await terminal.json(['keys', 'list'], {
      env: {
        ...production,
        ...settings,
        DATABASE_URL: 'postgres://127.0.0.1/none',
        MANIFEST_PUBLIC_KEYS: 'A'.repeat(43),
      },
    });
    expect(readdirSync(`${dir}/tokens`).toSorted()).toEqual(
      [...listed.map(({ kid }: { kid: string }) => `${kid}.pem`), 'ring.json'].toSorted(),
    );
  });

  test.each([
    'a folder',
    "it's & more; (all) #1",
    '$HOME `id` "$(id)" ~ * > out',
    'Schlüssel',
    '~',
    'a=b,c+d%20@1:2',
  ])('writes settings that a shell and `parseEnv` of Node read unchanged: the folder %s', async (name) => {
    const settings = await terminal.json(['init', name], { env: production });
    const file = terminal.file(`${name}/mooring.env`);
    const names = Object.keys(settings);
    expect(settings['TOKEN_KEYS_DIR']).toBe(terminal.file(`${name}/tokens`));
    const script = `set -eu; . "$0"; printf '%s\\n' ${names.map((setting) => `"$${setting}"`).join(' ')}`;
    const shellValues = execFileSync('sh', ['-c', script, file], { cwd: terminal.dir, encoding: 'utf8' });
    expect(shellValues).toBe(
      Object.values(settings)
        .map((value) => `${String(value)}\n`)
        .join(''),
    );
    expect(parseEnv(readFileSync(file, 'utf8'))).toEqual(settings);
  });

  test.each(['a\\b', 'a\nb', `it's "$1"`])(
    'refuses the folder %j, because a shell, systemd and docker compose do not read any quoting of it alike',
    async (name) => {
      expect(await terminal.run(['init', name], { env: production })).toMatchObject({
        code: 1,
        stdout: '',
        stderr: `${JSON.stringify(terminal.file(`${name}/tokens`))} cannot be written to mooring.env, because it has a backslash, a control character, or ' together with ", $ or \`: choose another folder.\n`,
      });
      expect(existsSync(terminal.file(name))).toBe(false);
    },
  );

  test('leaves no file and no key if the token keys cannot be written', async () => {
    // The paths of the key files exceed the 4,095 bytes of PATH_MAX, the path of mooring.env does not.
    const folders = Array.from({ length: 20 }, () => 'x'.repeat(200));
    const dir = terminal.file(folders.join('/')).slice(0, 4_070).replace(/\/+$/, '');
    expect(await terminal.run(['init', dir], { env: production })).toMatchObject({ code: 1, stdout: '' });
    expect(readdirSync(dir)).toEqual([]);
  });

  test('overwrites no file and no folder', async () => {
    for (const existing of ['mooring.env', 'tokens']) {
      const dir = terminal.file(`existing-${existing}`);
      mkdirSync(`${dir}/${existing}`, { recursive: true });
      expect(await terminal.run(['init', dir], { env: production })).toMatchObject({
        code: 1,
        stdout: '',
        stderr: `${dir}/${existing} exists already, and is never overwritten.\n`,
      });
      expect(readdirSync(dir)).toEqual([existing]);
    }
  });
});

describe('with the embedded database', () => {
  test('a command starts the database if no server runs, and then stops it', async () => {
    const { license_id, license_key } = await terminal.json([
      'license',
      'issue',
      '--email',
      'ada@example.com',
    ]);
    expect(existsSync(terminal.file('data/postgres/postmaster.pid'))).toBe(false);
    expect((await terminal.json(['license', 'show', license_key])).id).toBe(license_id);
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
      writeFileSync(terminal.file('App.dmg'), 'an image');
      const image = ['--dmg', 'App.dmg', '--version', '1.1.0', '--url', 'https://dl.example.com/App.dmg'];
      const signed = await terminal.run(['manifest', 'sign', ...image, '--first', '--json'], { env });
      const publish = ['manifest', 'publish', '-'];
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
