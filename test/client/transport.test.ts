import { describe, expect, test } from '@jest/globals';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createSecureServer } from 'node:http2';
import { createServer, type Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { LicenseProblem } from '../../client/src/client.js';
import { separateFetch } from '../../client/src/separate-fetch.js';
import { systemClock, systemTimers } from '../../client/src/time.js';
import { CALL_TIMEOUT_MS, Transport, type Fetch } from '../../client/src/transport.js';
import { makeCertificate } from '../support/certificate.js';
import { at, DAY, Computer, EMAIL, FakeTime, HOUR, KEY } from './harness.js';
import { makeKey, manifest } from './publisher.js';
import { listen, serve } from '../support/listen.js';

function confirm(response: ServerResponse): void {
  const now = Date.now();
  const body = {
    token: 't',
    server_time: at(now),
    offline_until: at(now + 7 * DAY),
    license: { expires_at: null },
  };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const PROBLEM_TYPE = { 'content-type': 'application/problem+json' };

describe('over a real socket', () => {
  test('the request for the manifest has no body, cookie, credential or other data that identifies the caller', async () => {
    const seen: IncomingMessage[] = [];
    const key = makeKey();
    const published = JSON.stringify(manifest({}, [key]));
    const baseUrl = await serve((request, response) => {
      seen.push(request);
      response.setHeader('set-cookie', 'id=1; Path=/');
      if (request.url === '/v1/manifest') response.writeHead(200, { etag: '"m1"' }).end(published);
      else confirm(response);
    });
    const computer = await Computer.make();
    const caches = new Set<RequestInit['cache']>();
    const fetch: Fetch = (url, init) => {
      caches.add(init.cache);
      return separateFetch(url, init);
    };
    await computer.open({ baseUrl, fetch, trustedKeys: [key.x] });
    await computer.client.activate(KEY, EMAIL);
    await computer.client.checkForUpdate();
    await computer.client.checkForUpdate();
    // The `fetch` of Electron would otherwise keep the manifest and its etag on the disk.
    expect([...caches]).toEqual(['no-store']);
    const [first, second] = seen.filter(({ url }) => url === '/v1/manifest');
    expect(first!.method).toBe('GET');
    expect(Object.keys(first!.headers).toSorted()).toEqual(['accept', 'connection', 'host', 'user-agent']);
    expect(first!.headers.accept).toBe('application/json, application/problem+json');
    expect(first!.headers['user-agent']).toBe('mooring-client');
    expect(first!.headers.connection).toBe('close');
    expect(second!.headers['if-none-match']).toBe('"m1"');
    const posts = seen.filter(({ method }) => method === 'POST');
    expect(posts.map(({ headers }) => headers['content-type'])).toEqual(['application/json']);
    expect(
      seen.every(({ headers }) => headers.cookie === undefined && headers.authorization === undefined),
    ).toBe(true);
  });

  test('a call ends after ten seconds, with no response or with an incomplete one', async () => {
    expect(CALL_TIMEOUT_MS).toBe(10_000);
    const time = new FakeTime();
    const url = await serve((request, response) => {
      if (request.url === '/trickle') response.writeHead(503, { 'retry-after': '120' }).write('{');
    });
    let response: Promise<unknown> | undefined;
    const dependencies = {
      fetch: (url: string, init: RequestInit) => {
        const received = separateFetch(url, init);
        response = received;
        return received;
      },
      clock: time.clock,
      timers: time.timers,
      signal: new AbortController().signal,
    };
    const transport = new Transport(url, dependencies);
    for (const [path, hasResponse] of [
      ['/silence', false],
      ['/trickle', true],
    ] as const) {
      const answer = transport.call({ method: 'GET', path });
      if (hasResponse) await response;
      const [timer] = time.pending;
      expect(timer!.due - time.monotonic).toBe(CALL_TIMEOUT_MS);
      timer!.work();
      const retry_after_seconds = hasResponse ? 120 : undefined;
      const expected = { kind: 'no_answer', reason: 'timeout', hasResponse, retry_after_seconds };
      expect(await answer).toEqual(expected);
      expect(time.pending.size).toBe(0);
    }
  });

  test('closing ends a running call, and no timer keeps the process running', async () => {
    const url = await serve(() => {});
    const closing = new AbortController();
    const dependencies = {
      fetch: separateFetch,
      clock: systemClock,
      timers: systemTimers,
      signal: closing.signal,
    };
    const answer = new Transport(url, dependencies).call({ method: 'GET', path: '/' });
    closing.abort();
    expect(await answer).toMatchObject({ kind: 'no_answer', reason: 'closed' });
    expect((systemTimers.set(() => {}, HOUR) as NodeJS.Timeout).hasRef()).toBe(false);
  });
});

describe('over a connection of its own', () => {
  const request = (url: string) => separateFetch(url, { method: 'GET' });
  const raw = (answer: string) =>
    serveRaw((socket) => socket.once('data', () => socket.end(answer.replaceAll('\n', '\r\n'))));

  test('informational responses are skipped, and each header is kept', async () => {
    const url = await raw(
      'HTTP/1.1 103 Early Hints\nlink: </x>\n\nHTTP/1.1 503 Busy\nretry-after: 1\nretry-after: 2\n\nbusy',
    );
    const { status, headers, body } = await request(url);
    expect([status, headers.get('link'), headers.get('retry-after')]).toEqual([503, null, '1, 2']);
    expect(await new Response(body).text()).toBe('busy');
  });

  test.each([
    ['HTTP/1.1 101 Switching Protocols\nupgrade: h2c\nconnection: upgrade\n\n', { message: 'no response' }],
    ['HTTP/1.1 200 OK\nx: ' + 'y'.repeat(17_000) + '\n\n', { code: 'HPE_HEADER_OVERFLOW' }],
    ['', { code: 'ECONNRESET' }],
    ['no HTTP\n\n', { code: 'HPE_INVALID_CONSTANT' }],
  ])('bytes from which no final HTTP response can be read end with an error: %j', async (answer, cause) => {
    await expect(request(await raw(answer))).rejects.toMatchObject({ cause });
  });

  test('a cut body fails where it is read, and nowhere else', async () => {
    const { body } = await request(await raw('HTTP/1.1 200 OK\ncontent-length: 9\n\ncut'));
    await expect(new Response(body).text()).rejects.toThrow();
  });

  test('a chunked body is complete only with the end of its last line', async () => {
    const whole = 'HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\n2\n{}\n0\nx: y\n\n';
    const { body } = await request(await raw(whole));
    expect(await new Response(body).text()).toBe('{}');
    for (let end = whole.indexOf('{}') + 1; end < whole.length; end += 1) {
      const cut = await request(await raw(whole.slice(0, end)));
      await expect(new Response(cut.body).text()).rejects.toThrow();
    }
  });

  test('a proxy that the environment names gets a CONNECT request, except for a call to a loopback address', async () => {
    const heads: string[] = [];
    const proxy = await serveRaw((socket) =>
      socket.once('data', (head) => {
        heads.push(String(head));
        socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      }),
    );
    await withProxy(proxy, async () => {
      await expect(request('https://license.example/v1/manifest')).rejects.toMatchObject({
        cause: { code: 'ERR_PROXY_TUNNEL' },
      });
      await expect(request('https://127.0.0.1:1/v1/manifest')).rejects.toMatchObject({
        cause: { code: 'ECONNREFUSED' },
      });
    });
    // Other programs also use a proxy that is named without its scheme.
    await withProxy(new URL(proxy).host, async () => {
      await expect(request('https://license.example/v1/manifest')).rejects.toMatchObject({
        cause: { code: 'ERR_PROXY_TUNNEL' },
      });
    });
    const connect = expect.stringMatching(/^CONNECT license\.example:443 HTTP\/1\.1\r\n/);
    expect(heads).toEqual([connect, connect]);
    expect(heads[0]).not.toContain('manifest');
  });

  test.each<[string, (socket: Socket) => void]>([
    ['never answers', () => {}],
    ['refuses and keeps the connection', (socket) => socket.write('HTTP/1.1 407 No\r\n\r\n')],
    [
      'refuses and resets the connection',
      (socket) => socket.write('HTTP/1.1 407 No\r\n\r\n', () => socket.resetAndDestroy()),
    ],
    ['connects and then is silent', (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\n')],
  ])('behind a proxy that %s, an abort ends the call and its connection', async (_what, answer) => {
    const ended = Promise.withResolvers<void>();
    const abort = new AbortController();
    const proxy = await serveRaw((socket) => {
      socket.once('close', ended.resolve).once('data', () => {
        answer(socket);
        setImmediate(() => abort.abort());
      });
    });
    await withProxy(proxy, async () => {
      const call = separateFetch('https://license.example/', { method: 'GET', signal: abort.signal });
      await expect(call).rejects.toThrow('fetch failed');
      await ended.promise;
    });
  });

  test.each<[string, (socket: Socket, abort: AbortController) => void]>([
    ['resets it', (socket) => socket.resetAndDestroy()],
    ['keeps it until an abort', (_socket, abort) => abort.abort()],
  ])('a connection to a proxy that refuses and then %s causes no error later', async (_what, act) => {
    const connected = Promise.withResolvers<Socket>();
    const abort = new AbortController();
    const proxy = await serveRaw((socket) => {
      socket.once('data', () => socket.write('HTTP/1.1 407 No\r\n\r\n', () => connected.resolve(socket)));
    });
    await withProxy(proxy, async () => {
      const call = separateFetch('https://license.example/', { method: 'GET', signal: abort.signal });
      await expect(call).rejects.toMatchObject({ cause: { code: 'ERR_PROXY_TUNNEL' } });
      act(await connected.promise, abort);
      // Without a listener the error of the connection comes before this response, and fails the test.
      await expect(request(await raw('HTTP/1.1 204 No Content\n\n'))).resolves.toMatchObject({ status: 204 });
    });
  });

  test('a heartbeat and a read of the manifest share neither a connection nor a session', async () => {
    const { cert, key } = makeCertificate('127.0.0.1');
    const connections: { isHttp2: boolean; isResumed: boolean }[] = [];
    // A reverse proxy that terminates TLS can offer HTTP/2, with which one connection carries all calls.
    const server = createSecureServer({ cert, key, allowHTTP1: true }, (_request, response) =>
      response.writeHead(404).end(),
    );
    server.on('secureConnection', (socket) => {
      connections.push({ isHttp2: socket.alpnProtocol === 'h2', isResumed: socket.isSessionReused() });
    });
    const port = await listen(server);
    const trusted = getCACertificates('default');
    setDefaultCACertificates([...trusted, cert]);
    try {
      const { signal } = new AbortController();
      const dependencies = { fetch: separateFetch, clock: systemClock, timers: systemTimers, signal };
      const transport = new Transport(`https://127.0.0.1:${port}`, dependencies);
      const calls = [
        { method: 'POST', path: '/v1/heartbeat', body: {} },
        { method: 'GET', path: '/v1/manifest' },
      ] as const;
      for (const call of [...calls, ...calls])
        expect(await transport.call(call)).toMatchObject({ kind: 'answer', status: 404 });
    } finally {
      setDefaultCACertificates(trusted);
    }
    expect(connections).toEqual(Array.from({ length: 4 }, () => ({ isHttp2: false, isResumed: false })));
  });
});

/** Runs a function while the environment names this proxy. */
async function withProxy(url: string, work: () => Promise<void>): Promise<void> {
  const before = process.env['https_proxy'];
  process.env['https_proxy'] = url;
  try {
    await work();
  } finally {
    if (before === undefined) delete process.env['https_proxy'];
    else process.env['https_proxy'] = before;
  }
}

/** Starts a server that answers with any bytes. @returns its URL */
async function serveRaw(listener: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => listener(socket.on('error', () => {})));
  return `http://127.0.0.1:${await listen(server)}`;
}

/** Makes one call over this `fetch`. */
function callManifest(fetch: Fetch, baseUrl: string) {
  const { clock, timers } = new FakeTime();
  const dependencies = { fetch, clock, timers, signal: new AbortController().signal };
  return new Transport(baseUrl, dependencies).call({ method: 'GET', path: '/v1/manifest' });
}

describe('the base address', () => {
  test.each([
    'http://license.example',
    'ftp://x',
    'https://u:p@x',
    'https://u@x',
    'https://:p@x',
    'https://x/?q=1',
    'https://x/#h',
    'https://x?',
    'https://x/a?',
    'https://x/a#',
    'ftp://localhost',
    'http://localhost.evil.example',
    'http://evil-localhost',
    'http://[::2]',
    'http://127.0.0.1.evil.example',
    'license.example',
    'https://license .example',
    'https://license.example:65536',
    '',
  ])('%s is refused', async (baseUrl) => {
    const computer = await Computer.make();
    await expect(computer.open({ baseUrl })).rejects.toThrow(/baseUrl/);
  });

  test.each(['http://localhost:1', 'http://127.100.20.3', 'http://[::1]:8080', 'https://x.example/a//'])(
    '%s is accepted, and slashes at its end are removed',
    async (baseUrl) => {
      const urls: string[] = [];
      await callManifest(async (url) => (urls.push(url), new Response()), baseUrl);
      expect(urls).toEqual([`${baseUrl.replace(/\/+$/, '')}/v1/manifest`]);
    },
  );

  test('may have a path, which is the prefix of each call', async () => {
    const urls: (string | undefined)[] = [];
    const url = await serve((request, response) => {
      urls.push(request.url);
      confirm(response);
    });
    const computer = await Computer.opened({ baseUrl: `${url}/licensing/`, fetch: separateFetch });
    await computer.client.activate(KEY, EMAIL);
    expect(urls).toEqual(['/licensing/v1/activate']);
  });
});

describe('an answer', () => {
  const LIMIT_BYTES = 256 * 1_024;
  const call = (fetch: Fetch) => callManifest(fetch, 'https://license.example');
  const answered = (body: string | Uint8Array<ArrayBuffer>, init?: ResponseInit) =>
    call(async () => new Response(body, init));

  test.each([200, 201, 299, 304, 400, 503])('of status %d is returned to the caller', async (status) => {
    const response = { status, body: null, headers: new Headers() } as Response;
    expect(await call(async () => response)).toEqual({
      kind: 'answer',
      status,
      media_type: '',
      etag: null,
      text: '',
      retry_after_seconds: undefined,
    });
  });

  test.each([0, 199, 300, 302, 303, 305, 399])(
    'of status %d is refused with the reason redirect',
    async (status) => {
      const response = { status, body: null, headers: new Headers() } as Response;
      const none = { kind: 'no_answer', hasResponse: true, retry_after_seconds: undefined };
      expect(await call(async () => response)).toEqual({ ...none, reason: 'redirect' });
    },
  );

  test('has a media type without parameters, in lower case', async () => {
    const headers = { 'content-type': ' Application/JSON ; charset=utf-8', etag: '"x"', 'retry-after': '5' };
    expect(await answered('ä', { headers })).toMatchObject({
      media_type: 'application/json',
      etag: '"x"',
      text: 'ä',
      retry_after_seconds: 5,
    });
  });

  test('has at most 256 KiB of UTF-8', async () => {
    expect(await answered('x'.repeat(LIMIT_BYTES))).toMatchObject({ kind: 'answer' });
    expect(await answered('x'.repeat(LIMIT_BYTES + 1))).toMatchObject({
      reason: 'answer too large',
      hasResponse: true,
    });
    expect(await answered(new Uint8Array([0xff]))).toMatchObject({
      reason: 'answer not UTF-8',
      hasResponse: true,
    });
  });

  test.each([
    [503, 120],
    [429, 120],
    [502, undefined],
  ])(
    'of status %d that is too large, cut or not UTF-8 has the retry-after %s',
    async (status, retry_after_seconds) => {
      const init = { status, headers: { 'retry-after': '120' } };
      const cut = new ReadableStream({ start: (controller) => controller.error(new Error('cut')) });
      for (const body of ['x'.repeat(LIMIT_BYTES + 1), cut, new Uint8Array([0xff])])
        expect(await call(async () => new Response(body, init))).toMatchObject({
          kind: 'no_answer',
          retry_after_seconds,
        });
    },
  );

  test.each([
    [{ cause: { code: 'ECONNREFUSED' } }, 'ECONNREFUSED'],
    [{ cause: { code: 'A'.repeat(41) } }, 'A'.repeat(41)],
    [{ cause: { code: 'A'.repeat(42) } }, 'no connection'],
    [{ cause: { code: 'E' } }, 'no connection'],
    [{ cause: { code: 'at 10.0.0.1' } }, 'no connection'],
    [{ cause: { code: 'ECONN at 10.0.0.1' } }, 'no connection'],
    [{ cause: { code: '1: EPIPE' } }, 'no connection'],
    [{ cause: { code: 7 } }, 'no connection'],
    [{ cause: { code: ['ECONN'] } }, 'no connection'],
    [{ cause: { code: 'econn' } }, 'no connection'],
    [{ cause: { code: ' ECONN' } }, 'no connection'],
    [{ cause: null }, 'no connection'],
    [{}, 'no connection'],
    [null, 'no connection'],
    [undefined, 'no connection'],
  ])('that was not received because of %j is reported as %s', async (error, reason) => {
    expect(await call(() => Promise.reject(error))).toEqual({
      kind: 'no_answer',
      reason,
      hasResponse: false,
      retry_after_seconds: undefined,
    });
  });
});

test('a problem is handed to the caller with its members', async () => {
  const body = {
    code: 'invalid_request',
    client_action: 'fix',
    title: 'Bad',
    detail: 'see errors',
    errors: [{ pointer: '/email', detail: 'must be an e-mail address' }, 'junk'],
    request_id: 'r',
    docs: 'd',
  };
  const baseUrl = await serve((_, r) => r.writeHead(422, PROBLEM_TYPE).end(JSON.stringify(body)));
  const computer = await Computer.opened({ baseUrl, fetch: separateFetch });
  const error = await computer.client.activate(KEY, 'no address').catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(LicenseProblem);
  expect(error).toMatchObject({
    status: 422,
    code: 'invalid_request',
    client_action: 'fix',
    detail: 'see errors',
    errors: [{ pointer: '/email', detail: 'must be an e-mail address' }],
    extras: { docs: 'd' },
  });
});
