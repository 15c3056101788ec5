import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sourceFrame } from '../../src/core/source-frames.js';
import {
  activation,
  call,
  createDatabase,
  retryWhileUnavailable,
  type TestDatabase,
} from '../support/harness.js';
import { InstalledCommand } from '../support/processes/installed-command.js';
import { freePort, ServerProcess } from '../support/processes/server-process.js';
import { temporaryFolder } from '../support/folders.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const script = <T>(name: string) => import(join(root, 'scripts', name)) as Promise<T>;
const { locked } = await script<{ locked: Map<string, { id: string }> }>('shipped.mjs');
const { ustar } = await script<{ ustar(files: object[]): Buffer }>('ustar.mjs');
const execute = promisify(execFile);
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

const directory = temporaryFolder();
/** Two archives of one build. */
const archives = await Promise.all([
  makePackage('one', { TZ: 'UTC', LC_ALL: 'C.UTF-8' }, '022'),
  makePackage('two', { TZ: 'Asia/Tokyo', LC_ALL: 'C' }, '077'),
]);
await execute('tar', ['-xzf', archives[0]!, '-C', directory]);
/** The unpacked archive. */
const installation = join(directory, `mooring-${version}`);
const files = readdirSync(installation, { recursive: true, withFileTypes: true })
  .filter((file) => file.isFile())
  .map((file) => join(file.parentPath, file.name).slice(installation.length + 1));

/** Runs `npm run package` into a new folder. @returns the path of the archive */
async function makePackage(name: string, env: Record<string, string>, umask: string): Promise<string> {
  const folder = join(directory, name);
  mkdirSync(folder);
  const program = [
    '-c',
    `umask ${umask} && exec "$@"`,
    'sh',
    process.execPath,
    'scripts/package.mjs',
    folder,
  ];
  await execute('sh', program, { cwd: root, env: { ...process.env, ...env } });
  return join(folder, `mooring-${version}.tar.gz`);
}

test('the archive has what production loads, and no package, tool, type, picture or secret', () => {
  expect(new Set(files.map((file) => file.split('/')[0]))).toEqual(
    new Set([
      '.env.example',
      'CHANGELOG.md',
      'README.md',
      'SECURITY.md',
      'package.json',
      'sbom.cdx.json',
      'bin',
      'deploy',
      'dist',
      'docs',
      'migrations',
      'web',
    ]),
  );
  // README.md links to it.
  expect(files).toContain('docs/pages/README.md');
  const unwanted = /\.d\.[cm]?ts$|\.(png|env|pem)$|\.mooring-build/;
  expect(files.filter((file) => unwanted.test(file))).toEqual([]);
  const executable = files.filter((file) => statSync(join(installation, file)).mode & 0o111);
  expect(executable.toSorted()).toEqual(['bin/mooring', 'dist/cli.js']);
  expect(readFileSync(join(installation, 'bin/mooring'), 'utf8')).toBe(
    readFileSync('deploy/mooring', 'utf8'),
  );
  const bytes = files.reduce((sum, file) => sum + statSync(join(installation, file)).size, 0);
  expect(bytes).toBeLessThan(15e6);
});

test('the bundle imports only itself and Node, names no path of the build, and has one byte for each character', () => {
  const scripts = files.filter((file) => /^dist\/.*\.js$/.test(file));
  expect(scripts.length).toBeGreaterThan(20);
  for (const file of scripts) {
    const code = readFileSync(join(installation, file), 'utf8');
    const imported = [...code.matchAll(/^(?:import|export) [^;'"]*?from "([^"]+)";$/gm)].map(
      ([, name]) => name!,
    );
    const foreign = imported.filter((name) => !/^\.\.?\//.test(name) && !isBuiltin(name));
    expect([file, foreign]).toEqual([file, []]);
    expect([file, code.includes(root), /[^\0-\x7f]/.test(code)]).toEqual([file, false, false]);
  }
});

test('the archive has the licenses of over 80 packages of the bundle, each with the locked version', () => {
  const ids = [...locked.values()].map(({ id }) => id);
  const licenses = readFileSync(join(installation, 'dist/licenses.md'), 'utf8');
  const bundled = [...licenses.matchAll(/^## (\S+) - (\S+) \([\w. -]+\)$/gm)].map(
    ([, name, number]) => `${name}@${number}`,
  );
  expect(bundled.length).toBeGreaterThan(80);
  expect(bundled.filter((id) => !ids.includes(id))).toEqual([]);
  expect(licenses).toContain('Kamil Mysliwiec');
});

test('a stack frame in the bundle is reported with its line in the source', () => {
  const file = join(installation, 'dist/serve.js');
  const lines = readFileSync(file, 'utf8').split('\n');
  const frameOf = (text: string) => {
    const line = lines.findIndex((each) => each.includes(text));
    return sourceFrame(`name (${pathToFileURL(file).href}:${line + 1}:${lines[line]!.indexOf(text) + 1})`);
  };
  const text = "log.info('listening'";
  const source = readFileSync('src/server/serve.ts', 'utf8').split('\n');
  const sourceLine = source.findIndex((each) => each.includes(text)) + 1;
  expect(frameOf('.info("listening"')).toMatch(
    new RegExp(`^name \\(src/server/serve\\.ts:${sourceLine}:\\d+\\)$`),
  );
  // Code of a package is not in the map, so its frame stays as it is.
  expect(frameOf('NestContainer = class')).toContain('/dist/serve.js:');
});

test('two archives of one build have the same bytes, whatever the time zone, language and umask', () => {
  const [first, second] = archives.map((file) =>
    createHash('sha256').update(readFileSync(file)).digest('hex'),
  );
  expect(first).toBe(second);
});

test('the archive does not name the system on which it was made', () => {
  const OS_UNKNOWN = 255;
  expect(readFileSync(archives[0]!)[9]).toBe(OS_UNKNOWN);
});

test('no two pages have the same time, because the ETag of a page has only its size and time', () => {
  const pages = files.filter((file) => file.startsWith('web/dist/') && file.endsWith('index.html'));
  expect(pages.length).toBeGreaterThan(2);
  expect(new Set(pages.map((file) => statSync(join(installation, file)).mtimeMs)).size).toBe(pages.length);
});

test('long paths are archived, and a path that is too long is refused', () => {
  const paths = [
    'a',
    'b'.repeat(100),
    `${'c'.repeat(150)}/${'d'.repeat(99)}`,
    `e/${'f'.repeat(90)}/${'g'.repeat(90)}`,
  ];
  const file = { content: Buffer.from('text'), mode: 0o644, mtime: 1 };
  const listed = execFileSync('tar', ['-tf', '-'], {
    input: ustar(paths.map((path) => ({ ...file, path }))),
    encoding: 'utf8',
  });
  expect(listed.trim().split('\n')).toEqual(paths);
  expect(() => ustar([{ ...file, path: 'h'.repeat(101) }])).toThrow(/too long/);
});

describe('an installation of the archive, with nothing else than Node', () => {
  let database: TestDatabase;
  let mooring: InstalledCommand;
  let server: ServerProcess;
  let url: string;
  beforeAll(async () => {
    database = await createDatabase();
    mooring = new InstalledCommand(join(installation, 'bin/mooring'));
    await mooring.run(['init', mooring.settingsDir, '--data-dir', join(directory, 'data')]);
    mooring.fillIn({
      DATABASE_URL: database.url,
      MANIFEST_PUBLIC_KEYS: 'A'.repeat(43),
      PRODUCT: 'com.example.app',
      PUBLIC_URL: 'https://licensing.example.com',
    });
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const [, ...options] = /^ExecStart=(.*)$/m
      .exec(readFileSync(join(installation, 'deploy/mooring@.service'), 'utf8'))![1]!
      .replace('/etc/mooring/mooring.env', join(mooring.settingsDir, 'mooring.env'))
      .split(' ');
    const nodeArguments = options.slice(0, -1);
    const started = { nodeArguments, folder: installation, hasProductionLimits: true };
    // Node prefers these values to those of the settings file.
    server = new ServerProcess({ PORT: String(port), NODE_ENV: 'production' }, started);
    await server.waitForOutput('stdout', /"msg":"listening"/);
  });
  afterAll(async () => {
    const ended = await server?.end();
    // The log says why a service has ended by itself.
    expect({ ...ended, fatal: server?.stdout.match(/.*"level":60.*/g) }).toEqual({
      code: 0,
      signal: null,
      fatal: null,
    });
  });

  test('issues a license on the command line, which the service activates in production', async () => {
    const issued = await mooring.run(['license', 'issue', '--email', 'ada@example.com', '--json']);
    expect(issued).toMatchObject({ code: 0, stderr: '' });
    const body = activation({ license_key: issued.json.license_key, email: 'ada@example.com' });
    const answer = await retryWhileUnavailable(() => call(url, 'POST', '/v1/activate', body));
    expect([answer.status, answer.json.token]).toEqual([201, expect.any(String)]);
  });

  test('is ready, and serves the pages, the page of the error codes and the licenses of packages', async () => {
    const ready = await retryWhileUnavailable(() => call(url, 'GET', '/health/ready'));
    expect([ready.status, ready.json.status]).toEqual([200, 'ready']);
    for (const path of ['/portal/', '/support/', '/privacy/', '/licenses.md', '/docs/errors'])
      expect([path, (await fetch(url + path)).status]).toEqual([path, 200]);
  });
});
