import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { Service } from '../support/harness.js';
import { publish } from './publish.js';
import { exchange, open, request } from '../support/http/raw-http.js';

const service = await Service.start();
await publish(service, '1.0.0');
const { etag } = (await service.call('GET', '/v1/manifest')).headers as { etag: string };

// The service answers `manifest` from memory. `%6Danifest` is the same path, but only the framework decodes it.
test.each([
  ['GET', '', 'no etag', undefined],
  ['HEAD', '', 'no etag', undefined],
  ['GET', '?x=1', 'no etag', undefined],
  ['GET', '', 'the etag', () => etag],
  ['GET', '', 'a list with the etag', () => `"a", W/${etag}`],
])(
  '%s with the query %j and %s has the same response from memory and from the framework',
  async (method, query, _what, tags) => {
    const headers: Record<string, string> = tags ? { 'if-none-match': tags() } : {};
    const ask = async (path: string) => {
      const answer = await fetch(`${service.url}/v1/${path}${query}`, { method, headers });
      const comparable = { ...Object.fromEntries(answer.headers), date: '' };
      return { status: answer.status, headers: comparable, body: await answer.text() };
    };
    const [fromMemory, fromFramework] = [await ask('manifest'), await ask('%6Danifest')];
    expect(fromMemory.status).toBe(tags ? 304 : 200);
    expect(fromFramework).toEqual(fromMemory);
  },
);

test('the framework handles only requests with another spelling of the path', async () => {
  const handled: unknown[] = [];
  const record = (message: unknown) => handled.push((message as { request: { url: string } }).request.url);
  subscribe('tracing:fastify.request.handler:start', record);
  try {
    for (const headers of [{}, { 'if-none-match': etag }])
      for (const path of ['manifest', 'manifest?x=1', '%6Danifest'])
        await (await fetch(`${service.url}/v1/${path}`, { headers })).text();
  } finally {
    unsubscribe('tracing:fastify.request.handler:start', record);
  }
  expect(handled).toEqual(['/v1/%6Danifest', '/v1/%6Danifest']);
});

test('a request without a host or with another method is refused as on other routes', async () => {
  const [[hostless], [posted]] = await Promise.all([
    exchange(service.url, ['GET /v1/manifest HTTP/1.1\r\n\r\n']),
    exchange(service.url, [request('POST', '/v1/manifest', '{}')]),
  ]);
  expect([hostless!.status, posted!.status, posted!.headers['allow']]).toEqual([400, 405, 'GET, HEAD']);
});

test('a request that is pipelined after a slower one is answered second', async () => {
  const body = JSON.stringify({ token: 'x', app_version: '1.0.0' });
  const bytes = Buffer.concat([request('POST', '/v1/heartbeat', body), request('GET', '/v1/manifest')]);
  const answers = await exchange(service.url, [bytes], 2);
  expect(answers.map(({ status }) => status)).toEqual([403, 200]);
});

test('a request whose sender has closed its half of the connection is answered', async () => {
  const closeHalf = (socket: Socket) => once(socket.end(), 'finish');
  const answers = await exchange(service.url, [request('GET', '/v1/manifest'), closeHalf]);
  expect(answers.map(({ status }) => status)).toEqual([200]);
});

test('a request is answered before the bytes after it that are no request', async () => {
  const socket = await open(service.url);
  socket.write(Buffer.concat([request('GET', '/v1/manifest'), Buffer.from('nonsense\r\n\r\n')]));
  const received = await text(socket);
  expect(received.match(/HTTP\/1\.1 .*/g)).toEqual(['HTTP/1.1 200 OK', 'HTTP/1.1 400 Bad Request']);
});

test('each response is logged like any other, with its own request id', async () => {
  const from = service.logged.length;
  await service.call('GET', '/v1/manifest?canary');
  await service.call('GET', '/v1/manifest', undefined, { 'if-none-match': etag });
  const lines = service.logged.slice(from).map((line) => JSON.parse(line) as Record<string, unknown>);
  const expected = { route: '/v1/manifest', method: 'GET', milliseconds: expect.any(Number), msg: 'request' };
  expect(lines).toEqual([
    expect.objectContaining({ ...expected, status: 200 }),
    expect.objectContaining({ ...expected, status: 304 }),
  ]);
  expect(new Set(lines.map(({ request_id }) => request_id)).size).toBe(2);
  expect(JSON.stringify(lines)).not.toContain('canary');
});
