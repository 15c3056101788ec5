import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { expect, test } from '@jest/globals';
import { fastify } from 'fastify';
import { closeConnections } from '../../src/http/connection-closing.js';
import { AppLogger } from '../../src/core/logger.js';
import { handleMalformedRequests } from '../../src/http/parsing/malformed-requests.js';

test('a shutdown answers complete requests, closes connections with incomplete ones, and counts both', async () => {
  const logged: string[] = [];
  const sink = new Writable({ write: (line, _encoding, done) => (logged.push(String(line)), done()) });
  const app = fastify();
  handleMalformedRequests(app);
  closeConnections(app, new AppLogger('info', sink));
  const answer = Promise.withResolvers<string>();
  app.get('/', () => (app.server.emit('arrived'), answer.promise));
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;

  const half = connect(port, '127.0.0.1').on('error', () => undefined);
  await once(app.server, 'connection');
  half.write('GET / HT');
  const gone = once(half.resume(), 'close');
  const asked = fetch(url);
  await once(app.server, 'arrived');
  const closed = app.close();
  await gone;
  answer.resolve('done');
  const given = await asked;
  expect([given.status, given.headers.get('connection'), await given.text()]).toEqual([200, 'close', 'done']);
  await closed;

  const [line] = logged.map((text) => JSON.parse(text) as Record<string, unknown>);
  expect(logged).toHaveLength(1);
  expect(line).toMatchObject({ msg: 'requests ended', answered: 1, cut: 1 });
  // An incomplete request had a second to become complete.
  expect(line!['milliseconds']).toBeGreaterThan(900);
});
