import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { until } from '../support/until.js';
import { Service } from '../support/harness.js';
import { exchange, request } from '../support/http/raw-http.js';
import { startForBrowser } from './service.js';

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";
const PAGES = ['/portal/', '/support/', '/privacy/'];
const dist = new URL('../../web/dist/', import.meta.url);

const { service, origin, browser } = await startForBrowser();

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(origin + path, { method, headers, redirect: 'manual' });

/** The paths of the files that the HTML of a page contains. */
const filesOf = (page: string) =>
  [
    ...readFileSync(new URL(`.${page}index.html`, dist), 'utf8').matchAll(
      /(?:src|href)="(\.\.\/assets\/[^"]+)"/g,
    ),
  ].map(([, path]) => new URL(path!, `${origin}${page}`).pathname);

describe.each(PAGES)('%s', (path) => {
  test('is a page with security headers that forbid embedding and other origins', async () => {
    const answer = await get(path, { 'accept-encoding': 'gzip, br' });
    expect(answer.status).toBe(200);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': POLICY,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'permissions-policy': expect.stringContaining('camera=()'),
      'cache-control': 'no-cache',
      'content-encoding': 'br',
      vary: 'accept-encoding',
      etag: expect.any(String),
    });
    // HSTS is sent only if PUBLIC_URL is an https URL: browsers ignore it over plain HTTP.
    expect(answer.headers.get('strict-transport-security')).toBeNull();
    expect(answer.headers.get('set-cookie')).toBeNull();
  });

  test('is answered with 304 if the browser has its current version', async () => {
    for (const encoding of ['br', 'gzip', 'identity']) {
      const etag = (await get(path, { 'accept-encoding': encoding })).headers.get('etag')!;
      // `fetch` is not used, because with `if-none-match` it also sends headers that ask for a new copy.
      const [again] = await exchange(origin, [
        request(
          'GET',
          path,
          undefined,
          `accept-encoding: ${encoding}\r\nif-none-match: ${etag}\r\nconnection: close\r\n`,
        ),
      ]);
      expect([again!.status, again!.body]).toEqual([304, '']);
      expect(again!.headers['cache-control']).toBe('no-cache');
    }
  });

  test('is answered with `if-match`, whatever it names, as without it', async () => {
    for (const method of ['GET', 'HEAD']) {
      const answer = await get(path, { 'if-match': '"another"' }, method);
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      await answer.arrayBuffer();
    }
  });

  test('is the target of a redirect from its path without the slash, and allows only GET and HEAD', async () => {
    // The location is relative, because PUBLIC_URL may have a path.
    const answer = await get(path.slice(0, -1));
    expect([answer.status, answer.headers.get('location')]).toEqual([301, path.slice(1)]);
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const refused = await get(path, {}, method);
      expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
      expect(await refused.json()).toMatchObject({ code: 'method_not_allowed' });
    }
  });

  test('has files that can be cached for a year, and are compressed if the client accepts that', async () => {
    const files = filesOf(path);
    // A script and a style sheet.
    expect(files).toHaveLength(2);
    for (const file of files) {
      for (const [accepted, encoding] of [
        ['gzip, br', 'br'],
        ['gzip', 'gzip'],
        ['identity', null],
      ] as const) {
        const answer = await get(file, { 'accept-encoding': accepted });
        expect(answer.status).toBe(200);
        expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
        expect(answer.headers.has('etag')).toBe(false);
        expect(answer.headers.get('content-encoding')).toBe(encoding);
        expect(answer.headers.get('content-type')).toMatch(
          /^(text\/css|application\/javascript|image\/svg\+xml)/,
        );
        expect(answer.headers.get('vary')).toBe('accept-encoding');
        // A policy for pages would only add bytes to each file.
        expect(answer.headers.get('content-security-policy')).toBe(
          "default-src 'none'; frame-ancestors 'none'",
        );
        expect(answer.headers.get('permissions-policy')).toBeNull();
        expect(answer.headers.get('cross-origin-resource-policy')).toBe('same-origin');
        await answer.arrayBuffer();
      }
    }
  });

  test('says that it is not loaded yet if its script cannot be loaded', async () => {
    const page = await browser.openPage(origin);
    await page.route('**/assets/*.js', (route) => route.abort());
    await page.goto(path);
    const text = page.getByText('This page takes a long time to load.');
    expect(await text.isVisible()).toBe(false);
    // The time until it is shown is that of an animation.
    await page.evaluate('document.getAnimations().forEach((animation) => animation.finish())');
    await text.waitFor();
  });

  test('opens in the browser without an error, has one main heading, and uses what it preloads, which it requests once', async () => {
    const requests: (string | undefined)[] = [];
    const page = await browser.openPage(origin);
    await page.addInitScript(`{
      const { fetch } = window;
      window.used = [];
      window.fetch = (url, ...more) => (used.push(new URL(url, location).href), fetch(url, ...more));
    }`);
    service.app
      .getHttpServer()
      .on('request', ({ url }: IncomingMessage) => requests.push(new URL(url!, origin).href));
    await page.goto(path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1);
    // The text `This page takes a long time to load.` is gone.
    expect(await page.locator('.late').count()).toBe(0);
    const preloads = 'link[rel=preload]';
    const urls = (await page.evaluate(
      `[...document.querySelectorAll('${preloads}')].map(({ href }) => href)`,
    )) as string[];
    expect(urls).toContain(`${origin}/brand`);
    const used = (await page.evaluate('used')) as string[];
    for (const list of [used, requests])
      expect(list.filter((url) => urls.includes(url!)).toSorted()).toEqual(urls.toSorted());
  });
});

test('the root redirects a browser to the portal, and is unknown to other clients', async () => {
  const page = await get('/', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' });
  expect([page.status, page.headers.get('location')]).toEqual([302, 'portal/']);
  const other = await get('/', { accept: '*/*' });
  expect(other.status).toBe(404);
  expect(await other.json()).toMatchObject({ code: 'not_found' });
});

test.each([
  'portal',
  'portal/nonsense',
  'portal/api/nonsense',
  'support/api',
  'v1/nonsense',
  'assets/',
  'assets/x.js',
])('the unknown path /%sx is answered with a problem, never with a page', async (path) => {
  const answer = await get(`/${path}x`);
  expect(answer.status).toBe(404);
  expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  expect(await answer.json()).toMatchObject({ code: 'not_found' });
});

test.each([
  '/portal/..%2findex.html',
  '/portal//',
  '/assets/..%2f..%2fpackage.json',
  '/assets/%00',
  '/portal/.mooring-build',
  '/.mooring-build',
])('the path %s gives access to no file other than those of the pages', async (path) => {
  const answer = await get(path);
  expect([404, 400]).toContain(answer.status);
  expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
});

test('with an https PUBLIC_URL browsers are required to use TLS only (HSTS)', async () => {
  const secure = await Service.start({ environment: { PUBLIC_URL: 'https://licenses.example.com' } });
  const answer = await fetch(`${secure.url}/portal/`);
  expect(answer.headers.get('strict-transport-security')).toBe('max-age=31536000');
  await secure.close();
});

test('the browser blocks what the content security policy forbids, and each violation is a fault, which fails a test', async () => {
  const page = await browser.openPage(origin, { path: '/portal/' });
  const attempts = {
    "fetch('http://127.0.0.1:9/').catch(() => {})": /connect-src/,
    "document.body.append(Object.assign(new Image(), { src: 'http://127.0.0.1:9/x.png' }))": /img-src/,
    "try { document.body.innerHTML = '<b>x</b>' } catch {}": /TrustedHTML/,
    "document.body.setAttribute('style', 'color: red')": /style-src/,
  };
  for (const [attempt, violation] of Object.entries(attempts)) {
    await page.evaluate(attempt);
    await until(async () => browser.faults.some((fault) => violation.test(fault)));
  }
  await until(async () => browser.faults.some((fault) => fault.startsWith('request to another origin')));
  browser.faults.splice(0);
});

test.each([
  ['portal', 40],
  ['privacy', 40],
  ['support', 80],
])('the script of %s has at most %d KiB, compressed', (page, kib) => {
  const scripts = filesOf(`/${page}/`).filter((file) => file.endsWith('.js'));
  const sizes = scripts.map((file) => gzipSync(readFileSync(new URL(`.${file}`, dist))).length);
  expect(scripts.length).toBeGreaterThan(0);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(kib * 1024);
});

test('the page /docs/errors is readable at each width, in light and dark mode, and uses no style but its own', async () => {
  const page = await browser.openPage(origin, { path: '/docs/errors#license_expired' });
  await page.getByRole('heading', { name: 'license_expired' }).waitFor();
  await browser.expectAccessibleLayout(page);
  expect(await page.evaluate('getComputedStyle(document.documentElement).colorScheme')).toBe('light dark');
  expect((await get('/docs/errors')).headers.get('content-security-policy')).toMatch(
    /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; frame-ancestors 'none'$/,
  );
});

test('the licenses of the bundled packages are published with the pages', async () => {
  const answer = await get('/licenses.md');
  expect(answer.status).toBe(200);
  expect(await answer.text()).toBe(readFileSync(new URL('licenses.md', dist), 'utf8'));
});

test('no file of the pages contains a URL of another origin', () => {
  for (const file of readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(js|css|html)$/.test(name),
  )) {
    const urls = readFileSync(new URL(file, dist), 'utf8').match(/https?:\/\/[^\s"'`)]+/g) ?? [];
    // URLs at www.w3.org are names of XML vocabularies, which are not fetched.
    expect(urls.filter((url) => !url.startsWith('http://www.w3.org/'))).toEqual([]);
  }
});
