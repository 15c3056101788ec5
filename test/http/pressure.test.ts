import { expect, jest, test } from '@jest/globals';
import { fastify } from 'fastify';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Writable } from 'node:stream';
import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Problem } from '../../src/http/problems/problem.js';
import { AppLogger } from '../../src/core/logger.js';
import { RefusalWriter } from '../../src/http/shed-responses.js';
import type { LoadLimits } from '../../src/http/limits/load-limits.js';
import { LoadCounts, shedLoad } from '../../src/http/limits/load-shedding.js';
import { SECURITY_HEADERS } from '../../src/http/responses/security-headers.js';
import { exchange, open, request } from '../support/http/raw-http.js';

const LARGE = 'x'.repeat(64 * 1024);

/**
 * Starts a server. Its route `/slow` responds when the test calls an element of `waiting`, `/busy` after 6 ms of computation, and
 * the other routes at once.
 */
async function startServer({
  maxQueuedMs = 250,
  ...limits
}: Omit<LoadLimits, 'maxQueuedMs'> & Partial<LoadLimits>) {
  const app = fastify({ return503OnClosing: false });
  app.setErrorHandler((error: Error, _request, reply) => {
    app.server.emit('shed');
    return error instanceof Problem
      ? reply.code(error.status).headers(error.headers).send({ code: error.code })
      : reply.code(500).send();
  });
  const load = new LoadCounts();
  const logger = new AppLogger('fatal', new Writable());
  const writer = new RefusalWriter({ publicUrl: 'https://licenses.example.com' }, logger);
  shedLoad(app, writer, { maxQueuedMs, ...limits }, load);
  const waiting: (() => void)[] = [];
  app.get('/slow', ({ raw }) => {
    raw.socket.once('close', () => app.server.emit('disconnected'));
    const answer = Promise.withResolvers<string>();
    waiting.push(() => answer.resolve('done'));
    app.server.emit('waiting', raw.url);
    return answer.promise;
  });
  app.post('/v1/heartbeat', () => 'done');
  app.get('/busy', () => {
    const until = performance.now() + 6;
    while (performance.now() < until);
    return 'done';
  });
  app.get('/quick', () => 'done');
  app.get('/large', () => {
    app.server.emit('large');
    return LARGE;
  });
  app.get('/health/live', () => 'ok');
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  return { app, url, waiting, load };
}

test('requests above the limit are refused with a retry-after; the health check and later requests are served', async () => {
  const { app, url, waiting, load } = await startServer({ waitingMs: 0, concurrentRequests: 3 });
  try {
    const running = [1, 2, 3].map(() => fetch(`${url}/slow`));
    while (waiting.length < 3) await once(app.server, 'waiting');
    const shed = await Promise.all(Array.from({ length: 20 }, () => fetch(`${url}/slow`)));
    expect(new Set(shed.map(({ status }) => status))).toEqual(new Set([503]));
    for (const { headers } of shed) expect(Object.fromEntries(headers)).toMatchObject(SECURITY_HEADERS);
    expect(load.shed).toEqual({ waiting_time: 0, concurrent_requests: 20 });
    const seconds = shed.map(({ headers }) => Number(headers.get('retry-after')));
    // At least a minute; the 20 refusals together add less than a second (src/http/limits/return-times.ts).
    expect(seconds.every((each) => each >= 60 && each <= 61)).toBe(true);
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    for (const answer of waiting) answer();
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual([200, 200, 200]);
    const after = fetch(`${url}/slow`);
    await once(app.server, 'waiting');
    waiting.at(-1)!();
    expect((await after).status).toBe(200);
  } finally {
    await app.close();
  }
});

/** With these limits no request is refused because of a waiting time, however slow the computer is. */
const LONG_WAITS = { waitingMs: 600_000, maxQueuedMs: 600_000, concurrentRequests: 2_000 };

/**
 * Lets a server with LONG_WAITS measure a rate of less than one answer a second, so that it has the minimum of 100 slots. The rate
 * is the number of answers divided by the time in which the event loop was busy. The mock makes this time a thousand times as long.
 */
async function measureLowRate(url: string): Promise<void> {
  const utilization = jest
    .spyOn(performance, 'eventLoopUtilization')
    .mockImplementation(() => ({ active: performance.now() * 1_000, idle: 0, utilization: 1 }));
  try {
    await Promise.all(Array.from({ length: 80 }, () => fetch(`${url}/busy`)));
  } finally {
    utilization.mockRestore();
  }
}

test('requests without a slot wait for one, and begin in the order of arrival', async () => {
  const { app, url, waiting } = await startServer(LONG_WAITS);
  const get = async (path: string) => (await fetch(`${url}${path}`)).status;
  try {
    await measureLowRate(url);
    const running = Array.from({ length: 100 }, () => get('/slow'));
    while (waiting.length < 100) await once(app.server, 'waiting');
    const later: Promise<number>[] = [];
    for (const name of ['first', 'second', 'third']) {
      const arrives = once(app.server, 'request');
      later.push(get(`/slow?${name}`));
      await arrives;
    }
    const begun: unknown[] = [];
    for (const answer of waiting.splice(0, 3)) {
      const begins = once(app.server, 'waiting');
      answer();
      begun.push(...(await begins));
    }
    expect(begun).toEqual(['/slow?first', '/slow?second', '/slow?third']);
    for (const answer of waiting) answer();
    expect(new Set(await Promise.all([...running, ...later]))).toEqual(new Set([200]));
  } finally {
    for (const answer of waiting) answer();
    await app.close();
  }
});

test('at the shutdown the requests that wait for a slot are answered', async () => {
  const { app, url, waiting, load } = await startServer(LONG_WAITS);
  const get = async (path: string) => (await fetch(`${url}${path}`)).status;
  await measureLowRate(url);
  const arrived: unknown[] = [];
  app.server.on('request', (each) => arrived.push(each));
  const answers = Array.from({ length: 150 }, () => get('/slow'));
  while (arrived.length < 150) await once(app.server, 'request');
  while (waiting.length < 100) await once(app.server, 'waiting');
  const refused: unknown[] = [];
  app.server.on('shed', () => refused.push('refused'));
  const closed = app.close();
  while (waiting.length + refused.length < 150)
    await Promise.race([once(app.server, 'waiting'), once(app.server, 'shed')]);
  for (const answer of waiting) answer();
  expect(new Set(await Promise.all(answers))).toEqual(new Set([200]));
  expect(load.shed.concurrent_requests).toBe(0);
  // Otherwise the server would wait until the connections of `fetch` have been idle for a minute.
  app.server.closeAllConnections();
  await closed;
});

const HEARTBEAT = request('POST', '/v1/heartbeat', '{}');

test('while connections wait, heartbeats are refused before they are parsed, and the health check is answered', async () => {
  const { app, url, load } = await startServer({ waitingMs: 1, concurrentRequests: 100 });
  const parsed: unknown[] = [];
  app.server.on('request', (each: IncomingMessage) => parsed.push(each.url));
  const sockets: Socket[] = [];
  let sent = 0;
  // The process accepts one connection in a turn of the event loop, so these wait for longer than a millisecond.
  const connectMany = () =>
    Array.from({ length: 100 }, () => {
      sockets.push(connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined));
    });
  /** Sends a request between connections that wait, until one was refused. */
  const sendUntilRefused = async (parts: Parameters<typeof exchange>[1]) => {
    const before = load.shed.waiting_time;
    for (;;) {
      sent += 1;
      connectMany();
      const answers = Promise.all([exchange(url, parts), exchange(url, [request('GET', '/health/live')])]);
      connectMany();
      const [[answer], [probe]] = await answers;
      expect(probe).toMatchObject({ status: 200 });
      for (const socket of sockets.splice(0)) socket.destroy();
      if (load.shed.waiting_time > before) return answer!;
    }
  };
  try {
    const { status, headers, body } = await sendUntilRefused([HEARTBEAT]);
    expect(status).toBe(503);
    expect(headers).toMatchObject({ connection: 'close', 'content-type': 'application/problem+json' });
    expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(60);
    expect(JSON.parse(body)).toMatchObject({ code: 'unavailable', client_action: 'retry' });
    // The first bytes, the rest of the head, and the body arrive one after the other.
    const parts = [HEARTBEAT.subarray(0, 7), HEARTBEAT.subarray(7, -2), HEARTBEAT.subarray(-2)];
    expect((await sendUntilRefused(parts.flatMap((part) => [part, () => nextTurn()]))).status).toBe(503);
    const answered = parsed.filter((path) => path === '/v1/heartbeat').length;
    expect(answered + load.shed.waiting_time).toBe(sent);
  } finally {
    for (const socket of sockets) socket.destroy();
    await app.close();
  }
});

test('a client that sends a thousand requests over one connection and reads nothing does not use up the limit', async () => {
  const { app, url, load } = await startServer({ waitingMs: 0, concurrentRequests: 20 });
  const socket = await open(url);
  try {
    // The responses are far larger than the kernel's buffer of a connection. All requests are sent at once.
    let calls = 0;
    const all = new Promise<void>((resolve) => app.server.on('large', () => ++calls === 1_000 && resolve()));
    socket.pause().write(Buffer.concat(Array.from({ length: 1_000 }, () => request('GET', '/large'))));
    await Promise.race([all, once(app.server, 'shed')]);
    expect((await fetch(`${url}/quick`)).status).toBe(200);
    expect(load).toEqual(new LoadCounts());
  } finally {
    socket.destroy();
    await app.close();
  }
});

test('a request whose caller disconnects counts against the limit until its work is done', async () => {
  const { app, url, waiting, load } = await startServer({ waitingMs: 0, concurrentRequests: 3 });
  try {
    const disconnecting = httpRequest(`${url}/slow`).on('error', () => undefined);
    disconnecting.end();
    await once(app.server, 'waiting');
    disconnecting.destroy();
    await once(app.server, 'disconnected');
    expect(load.underWay).toBe(1);
    waiting[0]!();
    // The work of the first request is done once this later request has a response.
    await fetch(`${url}/quick`);
    expect(load.underWay).toBe(0);
  } finally {
    await app.close();
  }
});
