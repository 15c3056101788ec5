import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { AppLogger } from '../core/logger.js';
import type { AcceptQueue } from './limits/accept-queue.js';
import { stopAnsweringFirst } from './limits/answer-first.js';
import { hasPendingResponse } from './malformed-requests.js';

/** A request that has partly arrived must be complete within this time after the start of the shutdown. */
const REQUEST_ARRIVAL_TIMEOUT_MS = 1_000;
/** After the start of the shutdown, waiting connections are accepted for this time at most. */
const MAX_ACCEPT_MS = 1_000;

/**
 * Closes the connections of clients at the shutdown. Each response that ends from then on closes its connection. After a
 * second, connections without a pending response are destroyed: unused connections, and those whose request is not complete.
 * When the server closes, Node closes each connection whose response was ended (`response.end()`), even if a slow reader has not
 * received all of it: what does not fit into the socket buffers is lost. The responses of `servePrepared` fit into these buffers,
 * so it does no harm that `hasPendingResponse` does not know them.
 */
export function closeConnections(fastify: FastifyInstance, queue: AcceptQueue, log: AppLogger): void {
  const sockets = new Set<Socket>();
  fastify.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  let isClosing = false;
  // Since the start of the shutdown: the responses that the framework sent, and the connections that the shutdown destroyed.
  const counts = { answered: 0, cut: 0 };
  fastify.addHook('preClose', (done) => {
    isClosing = true;
    // The hooks below see only the responses of the framework, so the framework answers all requests from now on. The server goes
    // on listening until the queue is empty.
    stopAnsweringFirst(fastify.server);
    const startedAt = performance.now();
    // The server emits `close` after the end of the last connection.
    fastify.server.once('close', () => {
      log.info('requests ended', { ...counts, milliseconds: Math.round(performance.now() - startedAt) });
    });
    setTimeout(() => {
      for (const socket of sockets) if (!hasPendingResponse(socket)) destroy(socket);
    }, REQUEST_ARRIVAL_TIMEOUT_MS).unref();
    // The kernel resets the connections that wait when the process stops listening, so they are accepted first. Under an overload
    // the queue never becomes empty, so this has a time limit.
    queue.whenEmpty(done, MAX_ACCEPT_MS);
  });
  const destroy = (socket: Socket) => {
    counts.cut += 1;
    socket.destroy();
  };
  fastify.addHook('onSend', (_request, reply, _payload, done) => {
    if (isClosing) reply.header('connection', 'close');
    done();
  });
  fastify.addHook('onResponse', ({ socket }, _reply, done) => {
    if (isClosing) {
      counts.answered += 1;
      // A response whose headers were sent before the shutdown does not close its connection.
      if (!hasPendingResponse(socket)) socket.destroySoon();
    }
    done();
  });
}
