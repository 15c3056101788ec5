import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { afterAll, expect, test } from '@jest/globals';

const SCRIPT = fileURLToPath(new URL('../../scripts/audit.mjs', import.meta.url));
const ENDPOINT = '/-/npm/v1/security/advisories/bulk';

const lock = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')) as {
  packages: Record<string, { name?: string; version: string; link?: boolean }>;
};
const version = (name: string) => lock.packages[`node_modules/${name}`]!.version;

/** Where npm finds no settings of this machine's, and keeps its cache. */
const home = mkdtempSync(join(tmpdir(), 'mooring-audit-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** `npm run audit -- --registry=…` beside a registry of its own; without a listener nothing listens there. */
async function audit(
  listener?: RequestListener,
  ...options: string[]
): Promise<{ code: number; stdout: string }> {
  const registry = createServer(listener).listen(0, '127.0.0.1');
  await once(registry, 'listening');
  const { port } = registry.address() as AddressInfo;
  if (!listener) registry.close();
  const child = spawn(process.execPath, [SCRIPT, `--registry=http://127.0.0.1:${port}/`, ...options], {
    // As on a production machine that is configured to stay offline: either would make npm see less.
    env: { PATH: process.env['PATH'], HOME: home, NODE_ENV: 'production', npm_config_offline: 'true' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [stdout, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  if (listener) registry.close();
  registry.closeAllConnections();
  return { code: code as number, stdout };
}

/** Knows these advisories, severity by package, and of each package that the next version has none. */
function knows(severities: Record<string, string>, asked?: (body: object) => void): RequestListener {
  return async (request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.url === ENDPOINT) {
      const body = await buffer(request);
      asked?.(
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

test('1 and a table where something moderate is known of a release, and be it of what the pages bundle', async () => {
  const { code, stdout } = await audit(knows({ preact: 'moderate', uuid: 'low', 'axe-core': 'critical' }));
  expect(code).toBe(1);
  const [release, tools] = stdout.split('\nKnown of what builds') as [string, string];
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
  // The worst first.
  expect(rows(release)).toEqual([row('moderate', 'preact'), row('low', 'uuid')]);
  expect(rows(tools)).toEqual([row('critical', 'axe-core')]);
});

test('0 where only a tool is concerned, or nothing worse than low', async () => {
  const { code, stdout } = await audit(knows({ 'pg-protocol': 'low', 'axe-core': 'critical' }));
  expect(code).toBe(0);
  // pg is no row of its own for depending on pg-protocol.
  const found = [...stdout.matchAll(/^ {2}(\w+) +(\S+)@/gm)].map(([, ...named]) => named);
  expect(found).toEqual([
    ['low', 'pg-protocol'],
    ['critical', 'axe-core'],
  ]);
});

test('0 where nothing is known, and every package of the lock file was asked for', async () => {
  let asked: object = {};
  const { code, stdout } = await audit(knows({}, (body) => (asked = body)));
  expect(stdout).toMatch(/^Known of the \d+ packages that a release holds: nothing\nKnown of .+: nothing\n$/);
  expect(code).toBe(0);
  const locked = Object.entries(lock.packages)
    .filter(([path, { link }]) => path.includes('node_modules/') && !link)
    .map(([path, { name, version }]) => `${name ?? path.replace(/^.*node_modules\//, '')}@${version}`);
  const pairs = Object.entries(asked).flatMap(([name, versions]: [string, string[]]) =>
    versions.map((each) => `${name}@${each}`),
  );
  expect(pairs.toSorted()).toEqual([...new Set(locked)].toSorted());
});

test('3 and a sentence, neither good nor bad, where no list of advisories comes', async () => {
  const outcomes = await Promise.all([
    audit((_, response) => response.writeHead(405, { allow: 'GET,HEAD' }).end()),
    audit((_, response) => response.end('<html>Please sign in</html>')),
    audit(() => undefined, '--fetch-timeout=200'),
    audit(),
  ]);
  const nothing = (reason: RegExp) => ({
    code: 3,
    stdout: expect.stringMatching(new RegExp(`^Nothing was checked: .*${reason.source}.*\\n$`, 'i')),
  });
  expect(outcomes).toEqual(
    [/405 Method Not Allowed/, /<html>|JSON/, /timeout|timed out/, /ECONNREFUSED/].map(nothing),
  );
});
