import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { HAS_HAPROXY, openProxy, PROXY_NAME } from '../support/databases/balanced-harness.js';
import { FORWARDING_HEADERS, CLIENT_ADDRESS } from '../support/canary-addresses.js';
import { call } from '../support/harness.js';
import { formsOfAddress, LeakSearch } from '../support/leak-search.js';
import { afterThisFile } from '../support/of-this-file.js';
import { listen } from '../support/listen.js';

/** A server in place of an instance. It records every byte that it receives, and responds or breaks the connection. */
class RecordingServer {
  bytes = '';
  port = 0;
  /** If false, the server breaks the connection of each request that is not a health check. */
  isAnswering = true;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  constructor(readonly name: string) {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket.on('error', () => undefined));
      socket.setEncoding('latin1').on('data', (text: string) => this.#receive(socket, text));
    });
  }

  async listen(): Promise<number> {
    return (this.port = await listen(this.#server));
  }

  /** The method and path of each received request, without the health checks of the proxy. */
  get requests(): string[] {
    const lines = this.bytes.match(/^(GET|POST) .*$/gm) ?? [];
    return lines.map((line) => line.split(' HTTP/')[0]!).filter((line) => line !== 'GET /health/ready');
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #receive(socket: Socket, text: string): void {
    this.bytes += text;
    if (!this.isAnswering && !text.startsWith('GET /health/ready')) socket.destroy();
    else socket.write(`HTTP/1.1 200 OK\r\nx-instance: ${this.name}\r\ncontent-length: 0\r\n\r\n`);
  }
}

const addressSearch = new LeakSearch(formsOfAddress(CLIENT_ADDRESS));
const servers = [new RecordingServer('one'), new RecordingServer('two')];
const [one, two] = servers as [RecordingServer, RecordingServer];

const proxy = await openProxy(await Promise.all(servers.map((each) => each.listen())));
beforeEach(() => {
  for (const each of servers) Object.assign(each, { bytes: '', isAnswering: true });
});
afterThisFile(async () => {
  await proxy.close();
  for (const each of servers) each.close();
});

/**
 * Sends a request from CLIENT_ADDRESS, which only on Linux is used for nothing else.
 * @returns the status and the instance that responded
 */
async function sendRequest(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  through = proxy,
) {
  const { port } = new URL(through.url);
  const body = method === 'POST' ? '{}' : undefined;
  const request = httpRequest({
    host: '127.0.0.1',
    port,
    localAddress: CLIENT_ADDRESS,
    method,
    path,
    agent: false,
    headers: { ...(body && { 'content-length': '2' }), ...headers },
  });
  request.end(body);
  const [response] = (await once(request, 'response')) as [import('node:http').IncomingMessage];
  response.resume();
  await once(response, 'end');
  return { status: response.statusCode, from: response.headers['x-instance'] };
}

/** Sends bytes that are an invalid or incomplete request. */
async function sendBytes(bytes: string): Promise<void> {
  const socket = connect({
    host: '127.0.0.1',
    port: Number(new URL(proxy.url).port),
    localAddress: CLIENT_ADDRESS,
  });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const closed = once(socket.resume(), 'close');
  await new Promise((resolve) => socket.write(bytes, resolve));
  socket.end();
  await closed;
}

describe(PROXY_NAME, () => {
  test('does not pass the address of a caller on to an instance, and does not log it', async () => {
    expect(await sendRequest('GET', '/v1/manifest')).toMatchObject({ status: 200 });
    expect(await sendRequest('POST', '/v1/heartbeat')).toMatchObject({ status: 200 });
    const bytes = one.bytes + two.bytes;
    expect(bytes).toContain('POST /v1/heartbeat');
    expect([...addressSearch.in(bytes)]).toEqual([]);
    const names = [...bytes.matchAll(/^([\w-]+): /gm)].map(([, name]) => name!.toLowerCase());
    expect(names.filter((name) => !['host', 'connection', 'content-length'].includes(name))).toEqual([]);

    // What a proxy often logs: a path and headers with an address, invalid HTTP, a caller that disconnects, an instance that breaks
    // the connection.
    await sendRequest('GET', `/nowhere/${CLIENT_ADDRESS}`, FORWARDING_HEADERS);
    await sendBytes(`GARBAGE ${CLIENT_ADDRESS}\r\n\r\n`);
    await sendBytes(`POST /v1/activate HTTP/1.1\r\nhost: ${CLIENT_ADDRESS}\r\ncontent-length: 500\r\n\r\n{`);
    for (const each of servers) each.isAnswering = false;
    await sendRequest('POST', '/portal/api/session', FORWARDING_HEADERS).catch(() => undefined);
    expect([...addressSearch.in(proxy.output)]).toEqual([]);
  });

  // These tests are about the rules of HAProxy. The TCP forwarder, which replaces it where it is not installed, has no rules.
  if (HAS_HAPROXY) {
    /** Paths that an instance may treat as /v1/purchases. */
    const PURCHASES_PATHS = [
      '/v1/purchases',
      '/v1/purchases/',
      '/v1/purchases?a=b',
      '/v1/purchases;a=b',
      '/v1/%70urchases',
      '/v1%2fpurchases',
      '/%76%31/purchases',
      '/v1/PURCHASES',
      '//v1/purchases',
    ];

    test('does not publish /v1/purchases, and responds as an instance does for an unknown path', async () => {
      for (const path of [...PURCHASES_PATHS, `${proxy.url}/v1/purchases`])
        expect(await sendRequest('POST', path)).toMatchObject({ status: 404 });
      expect(one.requests.concat(two.requests)).toEqual([]);
      const { status, json } = await call(proxy.url, 'POST', '/v1/purchases', {});
      expect([status, json.code, json.client_action]).toEqual([404, 'not_found', 'fix']);
      for (const path of ['/v1/activate', '/v1/manifest', '/portal/purchases'])
        expect(await sendRequest('GET', path)).toMatchObject({ status: 200 });
    });

    test('publishes /v1/purchases if PUBLISH_PURCHASES is yes, and for no other value', async () => {
      const ports = servers.map((each) => each.port);
      for (const [PUBLISH_PURCHASES, status] of [
        ['yes', 200],
        ['', 404],
        ['no', 404],
      ] as const) {
        const other = await openProxy(ports, { PUBLISH_PURCHASES });
        try {
          expect(await sendRequest('POST', '/v1/purchases', {}, other)).toMatchObject({ status });
        } finally {
          await other.close();
        }
      }
      expect(one.requests.concat(two.requests)).toEqual(['POST /v1/purchases']);
    });

    test('retries only idempotent requests at another instance', async () => {
      one.isAnswering = false;
      // Instance one gets all requests for /portal/ first, and some of the others. The proxy repeats them at instance two.
      for (const [method, path] of [
        ['POST', '/v1/heartbeat'],
        ['POST', '/v1/activate'],
        ['GET', '/v1/manifest'],
        ['GET', '/portal/'],
      ] as const) {
        for (let count = 0; count < 4; count += 1)
          expect(await sendRequest(method, path)).toEqual({ status: 200, from: 'two' });
      }
      expect(one.requests.length).toBeGreaterThan(0);
      two.bytes = '';
      expect((await sendRequest('POST', '/portal/api/session')).status).toBe(503);
      expect(two.requests).toEqual([]);
    });

    test('gets a page, all that it loads and its API from the same instance, and from another one if that instance is down', async () => {
      const files = [
        '/portal/',
        '/assets/portal-D9mhnCam.js',
        '/languages?page=portal',
        '/languages/de/portal',
        '/brand',
      ];
      const paths = [...files, '/portal/api/session', '/privacy/data'];
      const respondingInstances = async () =>
        Promise.all(paths.map(async (path) => (await sendRequest('GET', path)).from));
      expect(new Set(await respondingInstances())).toEqual(new Set(['one']));
      const detected = proxy.waitForInstanceState('one', 'DOWN');
      one.close();
      await detected;
      expect(new Set(await respondingInstances())).toEqual(new Set(['two']));
    });

    test('answers 503 with a retry-after of 5 to 30 seconds, as an instance does, if all instances are down', async () => {
      // The previous test has closed the first instance, unless it failed.
      const detected = proxy.waitForInstanceState('two', 'DOWN');
      for (const each of servers) each.close();
      await detected;
      await expect(call(proxy.url, 'POST', '/v1/heartbeat', { token: 'x' })).resolves.toMatchObject({
        status: 503,
        json: { code: 'unavailable', client_action: 'retry', status: 503 },
        headers: { 'retry-after': expect.stringMatching(/^([5-9]|[12]\d|30)$/), 'cache-control': 'no-store' },
      });
    });
  }
});
