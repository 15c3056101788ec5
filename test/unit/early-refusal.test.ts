import { expect, test } from '@jest/globals';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { refuseEarly } from '../../src/http/limits/early-refusal.js';
import { listen } from '../support/listen.js';

test('a heartbeat that arrives byte by byte is parsed after a second, so that the time limit of the server applies to it', async () => {
  const server = createServer();
  const parsed = Promise.withResolvers<'parsed'>();
  // `refuseEarly` passes a connection on to the listeners that the server had before: Node's parser and this one.
  server.on('connection', () => parsed.resolve('parsed'));
  refuseEarly(server, { mayRefuse: () => true, refusal: () => undefined });
  const socket = connect(await listen(server), '127.0.0.1');
  socket.write('POST /v1/heartbeat HTTP/1.1\r\nhost: localhost\r\nx-slow: ');
  const stillRead = Promise.withResolvers<'still read'>();
  let bytes = 0;
  const slowly = setInterval(() => {
    socket.write('1');
    bytes += 1;
    if (bytes === 40) stillRead.resolve('still read');
  }, 100);
  try {
    expect(await Promise.race([parsed.promise, stillRead.promise])).toBe('parsed');
  } finally {
    clearInterval(slowly);
    socket.destroy();
  }
});
