import { expect, test } from '@jest/globals';
import { Service } from '../support/harness.js';
import { builtIn } from '../support/languages.js';

const service = await Service.start();

const read = (path: string, headers: Record<string, string> = {}) =>
  service.call('GET', path, undefined, headers);

test.each([
  ['de-AT,de;q=0.9,en;q=0.8', 'de'],
  ['sv', 'en'],
  ['', 'en'],
])('a page whose browser accepts "%s" receives the languages and its texts in %s', async (accepted, tag) => {
  const { json, headers } = await read('/languages?page=portal', { 'accept-language': accepted });
  const { portal, shared } = builtIn(tag).messages;
  expect(json).toEqual({ languages: expect.any(Array), tag, texts: { portal, shared } });
  expect(headers['vary']).toBe('accept-language, accept-encoding');
});

test('without the name of a page, /languages lists the languages and has no texts', async () => {
  const { json } = await read('/languages');
  expect(Object.keys(json as object)).toEqual(['languages']);
});

test('a browser that has the present response is not sent it again, except in another language', async () => {
  const german = { 'accept-language': 'de' };
  const { etag, 'cache-control': cacheControl } = (await read('/languages?page=portal', german)).headers;
  // After an update of the service, a page does not get the texts of the version before from the cache.
  expect(cacheControl).toBe('no-cache');
  const again = (headers: object) => read('/languages?page=portal', { ...headers, 'if-none-match': etag! });
  expect(await again(german)).toMatchObject({ status: 304, text: '', headers: { etag } });
  expect((await again({ 'accept-language': 'fr' })).json.tag).toBe('fr');
});

test('texts may be cached for a year if the request names their current version, and otherwise for five minutes', async () => {
  const { languages } = (await read('/languages')).json as { languages: { tag: string; version: string }[] };
  const { version } = languages.find(({ tag }) => tag === 'ja')!;
  const cacheControl = async (v: string) =>
    (await read(`/languages/ja/privacy?v=${v}`)).headers['cache-control'];
  expect(await cacheControl(version)).toBe('public, max-age=31536000, immutable');
  expect(await cacheControl('1')).toBe('public, max-age=300');
});

test.each(['/languages?page=support', '/languages?page=portal&page=privacy', '/languages/xx/portal'])(
  '%s is not found',
  async (path) => {
    expect((await read(path)).status).toBe(404);
  },
);
