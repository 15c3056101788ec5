import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, expect, jest, test } from '@jest/globals';
import { fastify } from 'fastify';
import { closeConnections } from '../../src/http/connection-closing.js';
import { AcceptQueue } from '../../src/http/limits/accept-queue.js';
import { Admission } from '../../src/http/limits/admission.js';
import { LIMITS } from '../../src/http/limits/load-limits.js';
import { shedLoad } from '../../src/http/limits/load-shedding.js';
import { AppLogger } from '../../src/core/logger.js';
import { servePrepared } from '../../src/http/responses/prepared-response.js';
import { RefusalWriter } from '../../src/http/shed-responses.js';
import { exchange, request } from '../support/http/raw-http.js';
import { handleMalformedRequests } from '../../src/http/malformed-requests.js';

afterEach(() => void jest.restoreAllMocks());

test('while a closing server still listens, the framework answers a prepared path and closes the connection', async () => {
  const app = fastify({ return503OnClosing: false });
  const queue = new AcceptQueue();
  const emptyCallback = Promise.withResolvers<() => void>();
  jest.spyOn(queue, 'whenEmpty').mockImplementation((callback) => emptyCallback.resolve(callback));
  const log = new AppLogger('info', { write: () => undefined });
  closeConnections(app, queue, log);
  app.get('/', () => 'from the framework');
  servePrepared(app, '/', () => ({ status: 200, headers: {}, body: 'prepared' }), log);
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const read = async () => {
    const response = await fetch(url);
    return [response.headers.get('connection'), await response.text()];
  };

  expect(await read()).toEqual(['keep-alive', 'prepared']);
  const closed = app.close();
  const reportEmptyQueue = await emptyCallback.promise;
  const whileClosing = await read();
  reportEmptyQueue();
  await closed;
  expect(whileClosing).toEqual(['close', 'from the framework']);
});

test('a shutdown closes the connection of a response that had begun before it', async () => {
  const app = fastify({ keepAliveTimeout: 600_000 });
  handleMalformedRequests(app);
  closeConnections(app, new AcceptQueue(), new AppLogger('info', { write: () => undefined }));
  const body = new PassThrough();
  app.get('/', (_request, reply) => reply.send(body));
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const agent = new Agent({ keepAlive: true });
  body.write('first ');
  const [response] = (await once(get(url, { agent }), 'response')) as [IncomingMessage];
  // After a second the server closes connections without a pending response. This response is still incomplete then.
  const idle = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  await once(app.server, 'connection');
  const closed = app.close();
  await once(idle.resume(), 'close');
  const connectionClosed = once(response.socket, 'close');
  body.end('second');
  expect([response.headers.connection, await text(response)]).toEqual(['keep-alive', 'first second']);
  await Promise.all([connectionClosed, closed]);
  agent.destroy();
});

test('a shutdown answers complete requests, closes connections with incomplete ones, and counts both', async () => {
  const logged: Record<string, unknown>[] = [];
  const log = new AppLogger('info', { write: (line) => void logged.push(JSON.parse(line)) });
  const app = fastify();
  handleMalformedRequests(app);
  closeConnections(app, new AcceptQueue(), log);
  const answer = Promise.withResolvers<string>();
  app.get('/', () => (app.server.emit('arrived'), answer.promise));
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;

  const incomplete = connect(port, '127.0.0.1').on('error', () => undefined);
  await once(app.server, 'connection');
  incomplete.write('GET / HT');
  const incompleteClosed = once(incomplete.resume(), 'close');
  const request = fetch(url);
  await once(app.server, 'arrived');
  const closed = app.close();
  await incompleteClosed;
  answer.resolve('done');
  const response = await request;
  expect([response.status, response.headers.get('connection'), await response.text()]).toEqual([
    200,
    'close',
    'done',
  ]);
  await closed;

  expect(logged).toMatchObject([{ msg: 'requests ended', answered: 1, cut: 1 }]);
  // The service waits a second for the rest of an incomplete request.
  expect(logged[0]!['milliseconds']).toBeGreaterThan(900);
});

test('a closing server parses the heartbeats that its load refuses, so that it closes and counts them', async () => {
  jest.spyOn(Admission.prototype, 'isQueueLong', 'get').mockReturnValue(true);
  jest.spyOn(Admission.prototype, 'refusal').mockReturnValue('waiting_time');
  const logged: Record<string, unknown>[] = [];
  const log = new AppLogger('info', { write: (line) => void logged.push(JSON.parse(line)) });
  const app = fastify({ return503OnClosing: false });
  const queue = shedLoad(app, new RefusalWriter({ publicUrl: 'https://licenses.example.com' }, log), LIMITS);
  const emptyCallback = Promise.withResolvers<() => void>();
  jest.spyOn(queue, 'whenEmpty').mockImplementation((callback) => emptyCallback.resolve(callback));
  handleMalformedRequests(app);
  closeConnections(app, queue, log);
  app.post('/v1/heartbeat', () => 'done');
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const send = async () => (await exchange(url, [request('POST', '/v1/heartbeat', '{}')]))[0]?.headers;
  expect(await send()).toMatchObject({ connection: 'close' });
  const closed = app.close();
  const reportEmptyQueue = await emptyCallback.promise;
  expect(await send()).toMatchObject({ connection: 'close' });
  reportEmptyQueue();
  await closed;
  expect(logged.at(-1)).toMatchObject({ msg: 'requests ended', answered: 1 });
});
