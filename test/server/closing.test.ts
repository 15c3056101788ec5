import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { expect, test } from '@jest/globals';
import { fastify } from 'fastify';
import { closeConnections } from '../../src/http/connection-closing.js';
import { AcceptQueue } from '../../src/http/limits/accept-queue.js';
import { AppLogger } from '../../src/core/logger.js';
import { handleMalformedRequests } from '../../src/http/malformed-requests.js';

test('a shutdown answers complete requests, closes connections with incomplete ones, and counts both', async () => {
  const logged: string[] = [];
  const sink = new Writable({ write: (line, _encoding, done) => (logged.push(String(line)), done()) });
  const app = fastify();
  handleMalformedRequests(app);
  closeConnections(app, new AcceptQueue(), new AppLogger('info', sink));
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

  const [line] = logged.map((text) => JSON.parse(text) as Record<string, unknown>);
  expect(logged).toHaveLength(1);
  expect(line).toMatchObject({ msg: 'requests ended', answered: 1, cut: 1 });
  // The service waits a second for the rest of an incomplete request.
  expect(line!['milliseconds']).toBeGreaterThan(900);
});
