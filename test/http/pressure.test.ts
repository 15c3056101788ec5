import { expect, test } from '@jest/globals';
import { fastify } from 'fastify';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { Problem } from '../../src/http/problems/problem.js';
import { LoadCounts, shedLoad } from '../../src/http/limits/load-shedding.js';
import { open, request } from '../support/http/raw-http.js';

const LARGE = 'x'.repeat(64 * 1024);

/** A bare server with one route that answers when the test says so, and the probe. */
async function server(limits: { eventLoopDelayMs: number; concurrentRequests: number }) {
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
  app.get('/slow', (asked) => {
    asked.raw.socket.once('close', () => app.server.emit('gone'));
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

test('refuses the one too many with a spread retry-after, serves the probe, and serves again after', async () => {
  const { app, url, waiting, load } = await server({ eventLoopDelayMs: 10_000, concurrentRequests: 3 });
  try {
    const held = [1, 2, 3].map(() => fetch(`${url}/slow`));
    while (waiting.length < 3) await once(app.server, 'waiting');
    const shed = await Promise.all(Array.from({ length: 20 }, () => fetch(`${url}/slow`)));
    expect(new Set(shed.map(({ status }) => status))).toEqual(new Set([503]));
    expect(load.shed).toEqual({ event_loop_delay: 0, concurrent_requests: 20 });
    const seconds = shed.map(({ headers }) => Number(headers.get('retry-after')));
    expect(seconds.every((each) => each >= 5 && each <= 30)).toBe(true);
    expect(new Set(seconds).size).toBeGreaterThan(3);
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    for (const answer of waiting) answer();
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200, 200]);
    const after = fetch(`${url}/slow`);
    await once(app.server, 'waiting');
    waiting.at(-1)!();
    expect((await after).status).toBe(200);
  } finally {
    await app.close();
  }
});

test('refuses requests while the event loop is late, and serves the probe', async () => {
  const { app, url, load } = await server({ eventLoopDelayMs: 5, concurrentRequests: 100 });
  const busy = setInterval(() => {
    for (const until = performance.now() + 30; performance.now() < until;) continue;
  }, 1);
  try {
    // The delay is measured over a second; before that the route answers as ever.
    let status = 0;
    while (status !== 503) ({ status } = await fetch(`${url}/quick`));
    expect(load.shed).toEqual({ event_loop_delay: 1, concurrent_requests: 0 });
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
  } finally {
    clearInterval(busy);
    await app.close();
  }
});

test('a client that asks a thousand times over one connection and reads nothing takes no seat from another', async () => {
  const { app, url, load } = await server({ eventLoopDelayMs: 10_000, concurrentRequests: 20 });
  const socket = await open(url);
  try {
    // Far more than the kernel keeps for a connection, asked for in one piece.
    let asked = 0;
    const all = new Promise<void>((resolve) => app.server.on('large', () => ++asked === 1_000 && resolve()));
    socket.pause().write(Buffer.concat(Array.from({ length: 1_000 }, () => request('GET', '/large'))));
    await Promise.race([all, once(app.server, 'shed')]);
    expect((await fetch(`${url}/quick`)).status).toBe(200);
    expect(load).toEqual(new LoadCounts());
  } finally {
    socket.destroy();
    await app.close();
  }
});

test('who leaves keeps the seat until the work is done', async () => {
  const { app, url, waiting, load } = await server({ eventLoopDelayMs: 10_000, concurrentRequests: 3 });
  try {
    const leaving = httpRequest(`${url}/slow`).on('error', () => undefined);
    leaving.end();
    await once(app.server, 'waiting');
    leaving.destroy();
    await once(app.server, 'gone');
    expect(load.underWay).toBe(1);
    waiting[0]!();
    // The answer that no client reads is made after this.
    await fetch(`${url}/quick`);
    expect(load.underWay).toBe(0);
  } finally {
    await app.close();
  }
});
