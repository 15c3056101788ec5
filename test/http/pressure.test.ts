import { expect, test } from '@jest/globals';
import { fastify } from 'fastify';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { Problem } from '../../src/http/problems/problem.js';
import { LoadCounts, shedLoad } from '../../src/http/limits/load-shedding.js';
import { open, request } from '../support/http/raw-http.js';

const LARGE = 'x'.repeat(64 * 1024);

/** Starts a server with a health check and with `/slow`, which responds when the test resolves its promise. */
async function startServer(limits: { eventLoopDelayMs: number; concurrentRequests: number }) {
  const app = fastify();
  app.setErrorHandler((error: Error, _request, reply) => {
    app.server.emit('shed');
    return error instanceof Problem
      ? reply.code(error.status).headers(error.headers).send({ code: error.code })
      : reply.code(500).send();
  });
  const load = new LoadCounts();
  shedLoad(app, limits, load);
  const waiting: (() => void)[] = [];
  app.get('/slow', ({ raw }) => {
    raw.socket.once('close', () => app.server.emit('disconnected'));
    const answer = Promise.withResolvers<string>();
    waiting.push(() => answer.resolve('done'));
    app.server.emit('waiting');
    return answer.promise;
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

test('requests above the limit are refused with different values of retry-after; the health check and later requests are served', async () => {
  const { app, url, waiting, load } = await startServer({ eventLoopDelayMs: 10_000, concurrentRequests: 3 });
  try {
    const running = [1, 2, 3].map(() => fetch(`${url}/slow`));
    while (waiting.length < 3) await once(app.server, 'waiting');
    const shed = await Promise.all(Array.from({ length: 20 }, () => fetch(`${url}/slow`)));
    expect(new Set(shed.map(({ status }) => status))).toEqual(new Set([503]));
    expect(load.shed).toEqual({ event_loop_delay: 0, concurrent_requests: 20 });
    const seconds = shed.map(({ headers }) => Number(headers.get('retry-after')));
    expect(seconds.every((each) => each >= 5 && each <= 30)).toBe(true);
    expect(new Set(seconds).size).toBeGreaterThan(3);
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

test('requests are refused while the event loop is delayed, and the health check is served', async () => {
  const { app, url, load } = await startServer({ eventLoopDelayMs: 5, concurrentRequests: 100 });
  const busy = setInterval(() => {
    for (const until = performance.now() + 30; performance.now() < until;) continue;
  }, 1);
  try {
    // The delay is measured over a second. Before its end the route responds as usual.
    let status = 0;
    while (status !== 503) ({ status } = await fetch(`${url}/quick`));
    expect(load.shed).toEqual({ event_loop_delay: 1, concurrent_requests: 0 });
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
  } finally {
    clearInterval(busy);
    await app.close();
  }
});

test('a client that sends a thousand requests over one connection and reads nothing does not use up the limit', async () => {
  const { app, url, load } = await startServer({ eventLoopDelayMs: 10_000, concurrentRequests: 20 });
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
  const { app, url, waiting, load } = await startServer({ eventLoopDelayMs: 10_000, concurrentRequests: 3 });
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
