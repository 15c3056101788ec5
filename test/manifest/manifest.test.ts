import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import { createPublicKey, verify, type JsonWebKey } from 'node:crypto';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import type { SignedManifest } from '../../src/keys/manifests/signed-manifest.js';
import { ManifestService } from '../../src/manifest/manifest.service.js';
import { Service } from '../support/harness.js';
import { until } from '../support/until.js';
import { unseenResponses } from '../support/http/openapi.js';
import { publish } from './publish.js';

/** Two instances with one database, as behind a load balancer. */
const service = await Service.start();
const other = await Service.beside(service);

const read = (headers: Record<string, string> = {}, path = '/v1/manifest', method = 'GET') =>
  service.call(method, path, undefined, headers);

test('before the first version is published, the manifest is answered with 404 and client_action retry', async () => {
  const { status, json, headers } = await read();
  expect([status, json.code, json.client_action]).toEqual([404, 'no_version_published', 'retry']);
  expect(headers).toMatchObject({ 'cache-control': 'no-store' });
});

describe('once a version is published', () => {
  let document: SignedManifest;
  beforeAll(async () => {
    document = await publish(service, '1.0.0', '2027-01-01T00:00:00Z');
  });

  test('the response is the signed document, and may be cached for 5 minutes', async () => {
    const { status, json, headers, text } = await read();
    expect(status).toBe(200);
    expect(json).toEqual(document);
    expect(headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(text)),
      'cache-control': 'public, max-age=300, stale-if-error=86400',
      etag: expect.stringMatching(/^"[\w-]{20,}"$/),
    });
  });

  test('the response has the same bytes and headers for all requests', async () => {
    const first = await read();
    const requests: [Record<string, string>, string?][] = [
      [{}, '/v1/manifest?license_key=MOOR_E6S7-Z8KJ-TB3R-QKX6&x[]=%zz'],
      [{ authorization: 'Bearer x', cookie: 'session=x' }],
      [
        {
          'user-agent': 'App/3.2',
          'accept-language': 'de',
          accept: 'text/html',
          'accept-encoding': 'gzip, br',
        },
      ],
      [{ origin: 'https://elsewhere.example', referer: 'https://elsewhere.example/' }],
      [{ range: 'bytes=0-10' }],
    ];
    for (const [headers, path] of requests) {
      const { status, text, headers: answered } = await read(headers, path);
      expect([status, text]).toEqual([200, first.text]);
      expect({ ...answered, date: '' }).toEqual({ ...first.headers, date: '' });
    }
    for (const name of ['set-cookie', 'vary', 'server', 'x-powered-by', 'access-control-allow-credentials']) {
      expect(first.headers).not.toHaveProperty(name);
    }
  });

  test.each([
    ['the etag', (etag: string) => etag],
    ['the etag, weak', (etag: string) => `W/${etag}`],
    ['a list with the etag', (etag: string) => `"a", ${etag},W/"b"`],
    ['a list with the etag, weak', (etag: string) => `"a",W/${etag}`],
    ['an asterisk', () => '*'],
  ])('a client that sends %s gets 304 without a body', async (_what, tags) => {
    const { headers } = await read();
    const response = await read({ 'if-none-match': tags(headers['etag']!) });
    expect([response.status, response.text]).toEqual([304, '']);
    const { etag, 'cache-control': cacheControl } = response.headers;
    expect({ etag, 'cache-control': cacheControl }).toEqual({
      etag: headers['etag'],
      'cache-control': headers['cache-control'],
    });
    const head = await read({ 'if-none-match': tags(headers['etag']!) }, '/v1/manifest', 'HEAD');
    expect([head.status, head.text]).toEqual([304, '']);
  });

  test.each([
    ['another etag', () => '"other"'],
    ['an empty header', () => ''],
    ['the etag without quotes', (etag: string) => etag.replaceAll('"', '')],
    ['half of the etag', (etag: string) => `${etag.slice(0, 10)}"`],
    ['broken quotes', () => '"'],
    ['the etag with W/ inside', (etag: string) => `${etag.slice(0, 5)}W/${etag.slice(5)}`],
  ])('a client that sends %s gets 200 and the manifest', async (_what, tags) => {
    const { headers, text } = await read();
    const answer = await read({ 'if-none-match': tags(headers['etag']!) });
    expect([answer.status, answer.text]).toEqual([200, text]);
  });

  test('HEAD has the headers of GET, including content-length, and no body', async () => {
    const get = await read();
    const { head, body } = await sendHead();
    expect(body).toBe('');
    expect(head).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    for (const name of ['content-length', 'content-type', 'etag', 'cache-control']) {
      expect(head.toLowerCase()).toContain(`${name}: ${get.headers[name]}`.toLowerCase());
    }
    expect((await read({}, '/v1/manifest', 'HEAD')).status).toBe(200);
  });

  test('any other method is refused with 405 and an allow header', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
      const { status, json, headers } = await read({}, '/v1/manifest', method);
      expect([status, json.code]).toEqual([405, 'method_not_allowed']);
      expect(headers['allow']).toMatch(/\bGET\b/);
    }
  });

  // test/manifest/service.test.ts tests that an instance polls every two seconds.
  test('every instance serves a new version after its next poll, with another etag and the same bytes', async () => {
    const before = await read();
    const poll = jest.spyOn(other.app.get(ManifestService), 'refresh');
    await publish(service, '1.1.0');
    poll.mockClear();
    const first = await read({ 'if-none-match': before.headers['etag']! });
    expect([first.status, first.json.version]).toEqual([200, '1.1.0']);
    await until(async () => poll.mock.results.length > 0);
    await poll.mock.results[0]!.value;
    poll.mockRestore();
    const second = await other.call('GET', '/v1/manifest');
    expect(second.text).toBe(first.text);
    expect(second.headers['etag']).toBe(first.headers['etag']);
  });

  test('the signature verifies the exact bytes of signed with a key of /v1/keys', async () => {
    const { json } = await read();
    const { keys } = (await service.call('GET', '/v1/keys')).json as { keys: JsonWebKey[] };
    const jwk = keys.find(({ kid }) => kid === json.key_id)!;
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    const signature = Buffer.from((json as SignedManifest).signature, 'base64url');
    const verifies = (signed: string) => verify(null, Buffer.from(signed), key, signature);
    expect([verifies(json.signed), verifies(`${json.signed} `)]).toEqual([true, false]);
    expect(jwk['for']).toBe('update-manifest');
  });
});

test('also_available has all older versions after five years of monthly versions with rising minimums', async () => {
  const own = await Service.start();
  const minimum = (month: number) => new Date(Date.UTC(2027, month, 1)).toISOString().replace('.000Z', 'Z');
  for (let month = 0; month < 60; month++) await publish(own, `2.${month}`, minimum(month));
  const { json } = await own.call('GET', '/v1/manifest');
  const { also_available } = JSON.parse(json.signed) as { also_available: { version: string }[] };
  expect(also_available.map(({ version }) => version)).toEqual(
    Array.from({ length: 59 }, (_, i) => `2.${58 - i}`),
  );
  await own.close();
});

test('the tests of this file have seen every documented response but 500 and 503', () => {
  // The manifest is served from memory, so a test cannot provoke these two responses.
  const unprovoked = ['GET /v1/manifest 500', 'GET /v1/manifest 503'];
  expect(unseenResponses(/^GET \/v1\/manifest /)).toEqual(unprovoked);
});

/** Sends HEAD over a socket, because a client library would hide a wrong body. @returns the response as received */
async function sendHead(): Promise<{ head: string; body: string }> {
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
  socket.write('HEAD /v1/manifest HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
  const [head, body] = (await text(socket)).split('\r\n\r\n') as [string, string];
  return { head, body };
}
