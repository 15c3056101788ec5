import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { buffer, text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { temporaryFolder } from '../support/folders.js';
import { listen } from '../support/listen.js';

const SCRIPT = fileURLToPath(new URL('../../scripts/audit.mjs', import.meta.url));
const ENDPOINT = '/-/npm/v1/security/advisories/bulk';

/** A privileged port, which no server of a test gets. */
const UNUSED_PORT = 9;

const lock = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')) as {
  packages: Record<string, { name?: string; version: string; link?: boolean }>;
};
const version = (name: string) => lock.packages[`node_modules/${name}`]!.version;

/** The home folder of npm, so that npm uses no settings and no cache of this machine. */
const home = temporaryFolder();

/** The longest time that Node can wait, because npm takes a timeout of 0 for one of 30 seconds. */
const NO_LIMIT = `--fetch-timeout=${2 ** 31 - 1}`;

/** Starts a fake registry, which ends no connection by itself: npm on a slow machine may use it again after a long time. */
async function startRegistry(listener: RequestListener) {
  const limits = { keepAliveTimeout: 0, headersTimeout: 0, requestTimeout: 0 };
  return listen(createServer(limits, listener));
}

/** Runs `npm run audit -- --registry=…` with a fake registry, or with a port at which no server listens. */
async function audit(
  listener?: RequestListener,
  ...options: string[]
): Promise<{ code: number; stdout: string }> {
  const port = listener ? await startRegistry(listener) : UNUSED_PORT;
  // The script's own limit of 30 seconds is too short for npm on a busy machine.
  const args = [`--registry=http://127.0.0.1:${port}/`, NO_LIMIT, ...options];
  const child = spawn(process.execPath, [SCRIPT, ...args], {
    // A production machine that is configured to stay offline: if npm used these settings, it would report less.
    env: { PATH: process.env['PATH'], HOME: home, NODE_ENV: 'production', npm_config_offline: 'true' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [stdout, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  return { code: code as number, stdout };
}

/** A registry with an advisory for each of these packages, given with its severity. Version 99.0.0 of each has no advisory. */
function registryWith(
  severities: Record<string, string>,
  onRequest?: (body: object) => void,
): RequestListener {
  return async (request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.url === ENDPOINT) {
      const body = await buffer(request);
      onRequest?.(
        JSON.parse(
          String(request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body),
        ) as object,
      );
      return response.end(JSON.stringify(advisories(severities)));
    }
    const name = decodeURIComponent(request.url!.slice(1));
    if (!(name in severities)) return response.writeHead(404).end('{}');
    const versions = [version(name), '99.0.0'].map((each) => [each, { name, version: each, dist: {} }]);
    return response.end(
      JSON.stringify({ name, 'dist-tags': { latest: '99.0.0' }, versions: Object.fromEntries(versions) }),
    );
  };
}

function advisories(severities: Record<string, string>) {
  const each = Object.entries(severities).map(([name, severity], id) => {
    const about = { id, title: `Fault in ${name}`, url: `https://example.com/${name}` };
    return [
      name,
      [{ ...about, severity, vulnerable_versions: '<99.0.0', cwe: [], cvss: { score: 0 } }],
    ] as const;
  });
  return Object.fromEntries(each);
}

test('npm run audit prints a table and exits with code 1 if a package of a release has a moderate advisory, even a package that is only in the bundles of the pages', async () => {
  const { code, stdout } = await audit(
    registryWith({ preact: 'moderate', uuid: 'low', 'axe-core': 'critical' }),
  );
  expect(code).toBe(1);
  const [release, tools] = stdout.split('\nAdvisories for the packages that only build') as [string, string];
  const row = (severity: string, name: string) =>
    [severity, `${name}@${version(name)}`, `Fault in ${name}`].concat(
      'affects <99.0.0',
      `fixed by ${name} 99.0.0`,
      `node_modules/${name}`,
      `https://example.com/${name}`,
    );
  const rows = (part: string) =>
    part
      .split('\n')
      .slice(1)
      .filter(Boolean)
      .map((line) => line.trim().split(/ {2,}/));
  // The most severe advisory is first.
  expect(rows(release)).toEqual([row('moderate', 'preact'), row('low', 'uuid')]);
  expect(rows(tools)).toEqual([row('critical', 'axe-core')]);
});

test('npm run audit exits with code 0 if the packages of a release have no advisory above low severity, whatever the tools have', async () => {
  const { code, stdout } = await audit(registryWith({ 'pg-protocol': 'low', 'axe-core': 'critical' }));
  expect(code).toBe(0);
  // pg has no row, although it depends on pg-protocol.
  const found = [...stdout.matchAll(/^ {2}(\w+) +(\S+)@/gm)].map(([, ...named]) => named);
  expect(found).toEqual([
    ['low', 'pg-protocol'],
    ['critical', 'axe-core'],
  ]);
});

test('npm run audit asks the registry for every package of the lock file, and exits with code 0 if there is no advisory', async () => {
  let requested: object = {};
  const { code, stdout } = await audit(registryWith({}, (body) => (requested = body)));
  expect(stdout).toMatch(
    /^Advisories for the \d+ packages of a release: nothing\nAdvisories for .+: nothing\n$/,
  );
  expect(code).toBe(0);
  const locked = Object.entries(lock.packages)
    .filter(([path, { link }]) => path.includes('node_modules/') && !link)
    .map(([path, { name, version }]) => `${name ?? path.replace(/^.*node_modules\//, '')}@${version}`);
  const pairs = Object.entries(requested).flatMap(([name, versions]: [string, string[]]) =>
    versions.map((each) => `${name}@${each}`),
  );
  expect(pairs.toSorted()).toEqual([...new Set(locked)].toSorted());
});

test('npm run audit prints one sentence and exits with code 3 if it receives no list of advisories', async () => {
  const outcomes = await Promise.all([
    audit((_, response) => response.writeHead(405, { allow: 'GET,HEAD' }).end()),
    audit((_, response) => response.end('<html>Please sign in</html>')),
    audit(() => undefined, '--fetch-timeout=200'),
    audit(),
  ]);
  const nothingChecked = (reason: RegExp) => ({
    code: 3,
    stdout: expect.stringMatching(new RegExp(`^Nothing was checked: .*${reason.source}.*\\n$`, 'i')),
  });
  expect(outcomes).toEqual(
    [/405 Method Not Allowed/, /<html>|JSON/, /timeout|timed out/, /ECONNREFUSED/].map(nothingChecked),
  );
});
