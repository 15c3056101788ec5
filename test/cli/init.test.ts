import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { renderSettingsFile } from '../../src/cli/settings-file.js';
import { Terminal } from '../support/processes/cli-harness.js';
import { PRODUCTION_SETTINGS } from '../support/production.js';
import { readAsCompose, readAsSystemd, readByNode, readByShell } from './settings-readers.js';

/** Each way in which an installation reads a settings file. */
const READERS = {
  'Node (--env-file)': readByNode,
  'a shell': readByShell,
  systemd: (file: string) => readAsSystemd(readFileSync(file, 'utf8')),
  'docker compose': (file: string) => readAsCompose(readFileSync(file, 'utf8')),
};

const EXAMPLE = readFileSync('.env.example', 'utf8');
const REQUIRED = ['DATABASE_URL', 'MANIFEST_PUBLIC_KEYS', 'PRODUCT', 'PUBLIC_URL'];
/** The command reads no setting, so none of these has a value in its environment. */
const env = { DATABASE_URL: undefined, DATA_DIR: undefined, PUBLIC_URL: undefined };

const terminal = new Terminal({});

const fileOf = (name: string) => terminal.file(`${name}/mooring.env`);

test('the files are readable only by their owner, and the output names them without a secret', async () => {
  const dir = terminal.file('secrets');
  const run = await terminal.run(['init', 'secrets'], { env });
  expect(run).toMatchObject({
    code: 0,
    stdout: `Settings and secrets: ${dir}/mooring.env\nToken keys: ${dir}/tokens\n`,
    stderr: expect.stringMatching(/^Fill in PUBLIC_URL, DATABASE_URL, PRODUCT, MANIFEST_PUBLIC_KEYS in /),
  });
  const secret = parseEnv(readFileSync(fileOf('secrets'), 'utf8'))['LICENSE_KEY_SECRET']!;
  expect(secret).toMatch(/^[A-Za-z0-9+/]{43}=$/);
  expect(run.stdout + run.stderr).not.toContain(secret);
  const mode = (name: string) => (statSync(`${dir}/${name}`).mode & 0o777).toString(8);
  expect(['', 'tokens', 'mooring.env', 'tokens/ring.json'].map(mode)).toEqual(['700', '700', '600', '600']);
  expect(await terminal.json(['init', 'secrets as JSON'], { env })).toEqual({
    settings_file: fileOf('secrets as JSON'),
    token_keys_dir: terminal.file('secrets as JSON/tokens'),
    fill_in: ['PUBLIC_URL', 'DATABASE_URL', 'PRODUCT', 'MANIFEST_PUBLIC_KEYS'],
  });
});

test('the keys are usable with the settings of the file', async () => {
  const settings = await terminal.init('production');
  const DATABASE_URL = 'postgres://127.0.0.1/none';
  const listed = await terminal.json(['keys', 'list'], {
    env: { ...PRODUCTION_SETTINGS, ...settings, DATABASE_URL },
  });
  expect(readdirSync(settings.TOKEN_KEYS_DIR).toSorted()).toEqual(
    [...listed.map(({ key_id }: { key_id: string }) => `${key_id}.pem`), 'ring.json'].toSorted(),
  );
});

test('the settings file has every line of .env.example; what production requires, or init fills in, is not commented out', async () => {
  await terminal.init('complete');
  const lines = readFileSync(fileOf('complete'), 'utf8').split('\n');
  const used = lines.filter((line) => /^[A-Z]/.test(line)).map((line) => line.split('='));
  const commented = lines.map((line) => (/^[A-Z]/.test(line) ? `# ${line}` : line));
  const withoutValues = (text: string) => text.replaceAll(/^# ([A-Z_]+)=.*$/gm, '# $1=');
  expect(withoutValues(commented.join('\n'))).toBe(withoutValues(EXAMPLE));
  expect(
    used
      .filter(([, value]) => value === '')
      .map(([name]) => name)
      .toSorted(),
  ).toEqual(REQUIRED);
  expect(Object.fromEntries(used.filter(([, value]) => value))).toEqual({
    NODE_ENV: 'production',
    LICENSE_KEY_SECRET: expect.any(String),
    TOKEN_KEYS_DIR: terminal.file('complete/tokens'),
    DATA_DIR: '/var/lib/mooring',
    TOMBSTONE_FILE: '/var/lib/mooring/erased.txt',
  });
});

describe.each(Object.entries(READERS))('%s', (_name, read) => {
  test.each([
    'a folder',
    "it's & more; (all) #1",
    '$HOME `id` "$(id)" ~ * > out ${PATH} %h',
    'Schlüssel',
    '~',
    'a=b,c+d%20@1:2',
  ])('reads the settings that init writes unchanged: the folder %s', async (name) => {
    const folder = `${_name.replaceAll(/\W/g, '-')}/${name}`;
    await terminal.json(['init', folder, '--data-dir', `data/${name}`], { env });
    expect(read(fileOf(folder), terminal.dir)).toEqual({
      ...Object.fromEntries(REQUIRED.map((setting) => [setting, ''])),
      NODE_ENV: 'production',
      LICENSE_KEY_SECRET: expect.stringMatching(/^[A-Za-z0-9+/]{43}=$/),
      TOKEN_KEYS_DIR: terminal.file(`${folder}/tokens`),
      DATA_DIR: terminal.file(`data/${name}`),
      TOMBSTONE_FILE: terminal.file(`data/${name}/erased.txt`),
    });
  });

  test('reads values with special characters unchanged', () => {
    const values = {
      MAIL_FROM: 'App & Söhne <licenses@example.com>',
      PRODUCT_NAME: "Ada's App",
      SMTP_URL: 'smtp://user:p%40ss#w@mail.example.com?a=1&b=$2',
      VENDOR_NAME: 'A "quoted" #1 vendor; $HOME, `id` | > (x)',
      ACCENT_COLOR: '#0b5a73',
    };
    const file = terminal.file('values.env');
    const { text } = renderSettingsFile(EXAMPLE, values);
    // Only these lines, because each setting that production requires has a line too, without a value.
    const lines = text.split('\n').filter((line) => Object.hasOwn(values, line.split('=')[0]!));
    writeFileSync(file, lines.join('\n'));
    expect(read(file, terminal.dir)).toEqual(values);
  });

  test('reads each example in .env.example as every other reader does', () => {
    const file = terminal.file('examples.env');
    writeFileSync(file, EXAMPLE.replaceAll(/^# (?=[A-Z_]+=)/gm, ''));
    const settings = read(file, terminal.dir);
    expect(Object.keys(settings)).toHaveLength([...EXAMPLE.matchAll(/^# [A-Z_]+=/gm)].length);
    expect(settings).toEqual(readAsSystemd(readFileSync(file, 'utf8')));
    expect(settings).toMatchObject({ MAIL_FROM: 'App <licenses@example.com>', ACCENT_COLOR: '#0b5a73' });
  });
});

test.each(['a\\b', 'a\nb', `it's "$1"`])(
  'refuses the folder %j, because no quoting of it is read alike by all readers',
  async (name) => {
    expect(await terminal.run(['init', name], { env })).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `${JSON.stringify(terminal.file(`${name}/tokens`))} cannot be written to mooring.env, because it has a backslash, a control character, or ' together with ", $ or \`: choose another folder.\n`,
    });
    expect(existsSync(terminal.file(name))).toBe(false);
  },
);

test.each([[['init', '']], [['init', 'unset', '--data-dir', '']]])(
  'refuses %j: an empty name, such as that of an unset variable, does not mean the folder of the caller',
  async (args) => {
    expect(await terminal.run(args, { env })).toMatchObject({
      code: 2,
      stdout: '',
      stderr: 'The name of a file or folder must not be empty.\n',
    });
    expect(existsSync(fileOf('.'))).toBe(false);
    expect(existsSync(terminal.file('unset'))).toBe(false);
  },
);

test('leaves no file and no key if the token keys cannot be written, and names their folder', async () => {
  // The paths of the key files exceed PATH_MAX, the path of mooring.env does not.
  const pathMax = process.platform === 'darwin' ? 1_024 : 4_096;
  const folders = Array.from({ length: 20 }, () => 'x'.repeat(200));
  const dir = terminal
    .file(folders.join('/'))
    .slice(0, pathMax - 26)
    .replace(/\/+$/, '');
  expect(await terminal.run(['init', dir], { env })).toMatchObject({
    code: 1,
    stdout: '',
    stderr: `${dir}/tokens cannot be used (ENAMETOOLONG).\n`,
  });
  expect(readdirSync(dir)).toEqual([]);
});

test('overwrites no file and no folder', async () => {
  for (const existing of ['mooring.env', 'tokens']) {
    const dir = terminal.file(`existing-${existing}`);
    mkdirSync(`${dir}/${existing}`, { recursive: true });
    expect(await terminal.run(['init', dir], { env })).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `${dir}/${existing} exists already, and is never overwritten.\n`,
    });
    expect(readdirSync(dir)).toEqual([existing]);
  }
});
