import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { activation, machineId, Service } from '../support/harness.js';
import { documentedRoutes } from '../support/http/openapi.js';
import { exchange, expectProblem, open, request } from '../support/http/raw-http.js';

/** A text in the sent bytes that no response and no log line may contain. hostile-bodies.test.ts tests bodies. */
const CANARY = 'kanari-5f1c';

/** The number of machines that `afterEach` has activated. */
let activated = 0;

const service = await Service.start();
const license = await service.issue({ machines_allowed: 10_000 });
const token = (await service.activate(license)).json.token as string;

// After each test the service works and has logged no error.
afterEach(async () => {
  expect((await service.activate(license, `normal ${(activated += 1)}`)).status).toBe(201);
  expect(service.logged.join('')).not.toContain(CANARY);
  expect(service.logged.splice(0).filter((line) => /"level":[56]0/.test(line))).toEqual([]);
});

describe('paths and methods', () => {
  const METHODS = 'GET POST PUT PATCH DELETE OPTIONS TRACE PROPFIND QUERY PURGE'.split(' ');
  const routes = documentedRoutes();
  const paths = [...new Set(routes.map(({ path }) => path))];

  test.each(paths)('every other method of %s is refused with 405 and an allow header', async (template) => {
    const path = template.replace('{id}', '0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6');
    // A fixed path may match the path with an id of another route: a GET of licenses/search is one of licenses/{id}.
    const fits = (other: string) => new RegExp(`^${other.replaceAll('{id}', '[^/]+')}$`).test(path);
    const documented = routes.filter((route) => fits(route.path)).map(({ method }) => method);
    const allowed = documented
      .flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
      .toSorted();
    for (const method of METHODS.filter((each) => !allowed.includes(each))) {
      const [answer] = await exchange(service.url, [request(method, path, '{}', 'connection: close\r\n')]);
      const allow = answer?.headers['allow']?.split(', ').toSorted();
      expect({ method, status: answer?.status, allow }).toEqual({ method, status: 405, allow: allowed });
      expectProblem(answer!, 'method_not_allowed');
    }
    const head = await service.call('HEAD', path);
    expect([head.status, head.text]).toEqual([allowed.includes('HEAD') ? expect.any(Number) : 405, '']);
  });

  test.each([
    '/v1',
    '/v1/',
    '/v1/activate/',
    '/v1/activate/x',
    '/V1/activate',
    '//v1/manifest',
    '/v2/manifest',
    '/.env',
    '/health',
    '/support/api/activations',
    `/${CANARY}`,
    '/v1/manifest;x=1',
    '/../etc/passwd',
  ])('%s is answered with 404', async (path) => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const [answer] = await exchange(service.url, [
        request(method, path, undefined, 'connection: close\r\n'),
      ]);
      expectProblem(answer!, 'not_found');
      expect(answer!.body).not.toContain(CANARY);
    }
  });

  test.each([
    '/v1/%zz',
    '/%',
    '/v1/%ff%fe',
    '/support/api/activations/%c0%af/release',
    'http://[::1/v1/keys',
    '/v1/keys%00',
    `/v1/%E0%A4%A?${CANARY}`,
  ])('an invalid URL gets a problem: %s', async (path) => {
    const [answer] = await exchange(service.url, [request('POST', path, undefined, 'connection: close\r\n')]);
    expectProblem(answer!);
    expect(answer!.body).not.toContain(CANARY);
  });

  test('a URL or header of any length, and too many headers, get a problem', async () => {
    for (const size of [200, 8_000, 16_300, 20_000, 200_000]) {
      const long = CANARY.repeat(Math.ceil(size / CANARY.length));
      const [path] = await exchange(service.url, [request('GET', `/v1/${long}`)]);
      const [parameter] = await exchange(service.url, [
        request('POST', `/support/api/activations/${long}/release`),
      ]);
      for (const answer of [path!, parameter!]) {
        expectProblem(answer);
        expect(answer.body).not.toContain(CANARY);
      }
      const [header] = await exchange(service.url, [
        request('GET', '/nowhere', undefined, `x-long: ${long}\r\n`),
      ]);
      expectProblem(header!);
    }
    const [many] = await exchange(service.url, [
      request('GET', '/nowhere', undefined, 'a: b\r\n'.repeat(3_000)),
    ]);
    expectProblem(many!, 'malformed_request');
  });
});

describe('invalid and unusual HTTP', () => {
  test.each([
    'GARBAGE\r\n\r\n',
    'FOO /v1/manifest HTTP/1.1\r\nhost: x\r\n\r\n',
    'GET /v1/manifest HTTP/3.7\r\nhost: x\r\n\r\n',
    'GET  HTTP/1.1\r\nhost: x\r\n\r\n',
    `GET /${CANARY}\0 HTTP/1.1\r\nhost: x\r\n\r\n`,
    'GET /v1/manifest HTTP/1.1\r\nhost x\r\n\r\n',
    'GET /v1/manifest HTTP/1.1\r\nhost: x\r\n: x\r\n\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    // The beginning of a TLS handshake.
    '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    'POST /v1/activate HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    'POST /v1/activate HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n',
    'POST /v1/activate HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}',
    'POST /v1/activate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n',
    // HTTP/1.1 requires a host. Node would respond to this request itself, without a body.
    'GET /v1/manifest HTTP/1.1\r\n\r\n',
  ])(
    'an invalid request is answered with 400 and a problem, and its connection is closed: %j',
    async (bytes) => {
      const [answer] = await exchange(service.url, [Buffer.from(bytes, 'latin1')]);
      expectProblem(answer!, 'malformed_request');
      expect(answer!.headers).toMatchObject({ connection: 'close', date: expect.any(String) });
      expect(answer!.body).not.toContain(CANARY);
    },
  );

  test('any bytes get a problem or no response', async () => {
    const start = fc.constantFrom(
      '',
      'GET ',
      'POST /v1/activate HTTP/1.1\r\n',
      'POST /v1/activate HTTP/1.1\r\nhost: x\r\n',
    );
    await fc.assert(
      fc.asyncProperty(start, fc.uint8Array({ minLength: 1, maxLength: 60 }), async (text, bytes) => {
        const end = async (socket: { end(): void }) => socket.end();
        const answers = await exchange(service.url, [text, Buffer.from(bytes), '\r\n\r\n', end]);
        for (const answer of answers) expectProblem(answer);
      }),
      { numRuns: 100 },
    );
  });

  test('an unknown value of the header `expect` gets a problem', async () => {
    const [answer] = await exchange(service.url, [
      request('POST', '/v1/activate', '{}', `expect: ${CANARY}\r\n`),
    ]);
    expectProblem(answer!);
  });

  test('expect: 100-continue gets 100, and the final response after the body', async () => {
    const body = JSON.stringify(activation(license, 'expecting'));
    const whole = request('POST', '/v1/activate', body, 'expect: 100-continue\r\nconnection: close\r\n');
    const at = whole.length - Buffer.byteLength(body);
    const interim: string[] = [];
    const continued = async (socket: Socket) => interim.push(String((await once(socket, 'data'))[0]));
    const [answer] = await exchange(service.url, [whole.subarray(0, at), continued, whole.subarray(at)]);
    expect(interim).toEqual(['HTTP/1.1 100 Continue\r\n\r\n']);
    expect(answer!.status).toBe(201);
  });

  test('HTTP/1.0 without a host is served, and its connection is closed', async () => {
    const body = JSON.stringify(activation(license, 'old'));
    const text = `POST /v1/activate HTTP/1.0\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    // A second response is awaited, so that `exchange` reads until the service closes the connection.
    const [answer] = await exchange(service.url, [text], 2);
    expect(answer).toMatchObject({ status: 201, headers: { connection: 'close' } });
  });

  test('pipelined requests are answered in their order', async () => {
    const heartbeat = JSON.stringify({ token, app_version: '3.2.0' });
    const three = [
      request('GET', '/health/live'),
      request('POST', '/v1/heartbeat', heartbeat),
      request('GET', '/nowhere'),
    ];
    const answers = await exchange(service.url, [Buffer.concat(three)], 3);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 404]);
    expect(answers[0]!.body).toBe('{"status":"ok"}');
  });

  // A problem for the bytes after an unanswered request would be taken for the response to that request. So no problem is sent, and
  // the connection may be closed without any response.
  test.each([
    '\x01\x02\r\n\r\n',
    'POST /v1/heartbeat HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
  ])('invalid bytes behind a request are never answered in place of that request: %j', async (invalid) => {
    const heartbeat = request('POST', '/v1/heartbeat', JSON.stringify({ token, app_version: '3.2.0' }));
    const packet = Buffer.concat([heartbeat, Buffer.from(invalid)]);
    const answers = await exchange(service.url, [packet], 2);
    expect(answers[0]?.status ?? 200).toBe(200);
  });
});

describe('callers that disconnect or are slow', () => {
  test('a connection that breaks before its request is complete activates nothing, and logs no error', async () => {
    const whole = request('POST', '/v1/activate', JSON.stringify(activation(license, 'cut')));
    // The step is odd, so that half of the connections are reset and half of them are ended.
    for (let at = 0; at < whole.length; at += 23) {
      const socket = await open(service.url);
      socket.write(whole.subarray(0, at));
      const closed = once(socket.resume(), 'close');
      if (at % 2) socket.resetAndDestroy();
      else socket.end();
      await closed;
    }
    const activations = await service.sql('select 1 from activation where machine_id = $1', [
      Buffer.from(machineId('cut'), 'hex'),
    ]);
    expect(activations).toEqual([]);
  });

  test('a caller that disconnects during its request has no effect on others', async () => {
    const heartbeat = JSON.stringify({ token, app_version: '3.2.0', telemetry: { arch: 'arm64' } });
    await Promise.all(
      Array.from({ length: 50 }, async () => {
        const socket = await open(service.url);
        await new Promise((resolve) => socket.write(request('POST', '/v1/heartbeat', heartbeat), resolve));
        socket.resetAndDestroy();
      }),
    );
    expect((await service.heartbeat(token)).status).toBe(200);
  });

  test('three hundred slow senders do not delay other clients', async () => {
    const slow = await Promise.all(Array.from({ length: 300 }, () => open(service.url)));
    for (const [index, socket] of slow.entries())
      socket.write(index % 2 ? 'POST /v1/acti' : request('POST', '/v1/activate', '{"a":').subarray(0, -2));
    let ended = 0;
    for (const socket of slow) socket.once('close', () => (ended += 1));
    expect((await service.activate(license, 'beside slow senders')).status).toBe(201);
    // The response came while all slow connections were still open.
    expect(ended).toBe(0);
    for (const socket of slow) socket.destroy();
    // Without the test, the service would close such connections after this time limit.
    expect(service.app.getHttpServer().requestTimeout).toBeLessThanOrEqual(30_000);
  });

  test('a caller that closes its side of the connection still gets the response', async () => {
    const whole = request('GET', '/v1/keys', undefined, 'connection: close\r\n');
    const [answer] = await exchange(service.url, [whole, async (socket) => socket.end()]);
    expect(answer?.status).toBe(200);
  });
});
