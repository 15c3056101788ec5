import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { fastify } from 'fastify';
import { AppLogger } from '../../src/core/logger.js';
import { logResponses } from '../../src/http/responses/response-log.js';
import { RequestCounts } from '../../src/http/responses/request-counts.js';
import { open, request } from '../support/http/raw-http.js';

const lines: Record<string, unknown>[] = [];
const counts = new RequestCounts();
const app = fastify();
logResponses(app, new AppLogger('info', { write: (line) => void lines.push(JSON.parse(line)) }), counts);
let answer = Promise.withResolvers<string | PassThrough>();
app.get('/slow', async ({ raw }, reply) => {
  app.server.emit('arrived', raw);
  void reply.code(201);
  return answer.promise;
});
app.post('/slow', () => 'read');
app.get('/next', () => 'answered');
const url = await app.listen({ port: 0, host: '127.0.0.1' });
afterAll(() => app.close());

beforeEach(() => {
  lines.length = 0;
  answer = Promise.withResolvers();
});

/** Sends another request, whose line follows those of the requests that ended before. @returns the lines before it */
async function linesSoFar(): Promise<unknown[]> {
  await (await fetch(`${url}/next`)).text();
  return lines
    .filter(({ route }) => route !== '/next')
    .map(({ route, method, status }) => ({ route, method, status }));
}

/** Waits until a socket is closed; `once` would fail at its error. */
const untilClosed = (socket: Socket) => new Promise((resolve) => socket.once('close', resolve));

const counted = () => [...counts.seconds()].find(({ route }) => route === '/slow')?.seconds.counts ?? [];
const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
const SLOW = { route: '/slow', method: 'GET', status: 201 };

test('a response is logged once, when it was sent', async () => {
  const response = fetch(`${url}/slow`);
  await once(app.server, 'arrived');
  expect(await linesSoFar()).toEqual([]);
  answer.resolve('done');
  await (await response).text();
  expect(await linesSoFar()).toEqual([SLOW]);
});

test('a response whose stream fails before its first byte is logged once, with the error that was sent', async () => {
  const body = new PassThrough();
  const response = fetch(`${url}/slow`);
  await once(app.server, 'arrived');
  body.destroy(new Error('The file cannot be opened.'));
  answer.resolve(body);
  expect((await response).status).toBe(500);
  await (await response).text();
  expect(await linesSoFar()).toEqual([{ ...SLOW, status: 500 }]);
});

test('a request whose caller disconnects is logged with the response that it would have received', async () => {
  const before = sum(counted());
  const socket = await open(url);
  socket.write(request('GET', '/slow'));
  const [{ socket: served }] = (await once(app.server, 'arrived')) as [IncomingMessage];
  const closed = untilClosed(served);
  socket.resetAndDestroy();
  await closed;
  answer.resolve('done');
  expect(await linesSoFar()).toEqual([SLOW]);
  expect(sum(counted())).toBe(before + 1);
});

test('a response whose caller disconnects before its end is logged', async () => {
  const body = new PassThrough();
  body.write('the first part');
  answer.resolve(body);
  const sent = get(`${url}/slow`);
  const [response] = (await once(
    sent.on('error', () => undefined),
    'response',
  )) as [IncomingMessage];
  await once(response, 'data');
  const closed = once(body, 'close');
  response.on('error', () => undefined).destroy();
  await closed;
  expect(await linesSoFar()).toEqual([SLOW]);
});

test('a request that has not arrived completely is not logged', async () => {
  const connected = once(app.server, 'request') as Promise<[IncomingMessage]>;
  const socket = await open(url);
  socket.write(request('POST', '/slow', '{"a":1}').subarray(0, -1));
  const [{ socket: served }] = await connected;
  const closed = untilClosed(served);
  socket.destroy();
  await closed;
  expect(await linesSoFar()).toEqual([]);
});
