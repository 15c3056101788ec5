import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { AppLogger } from '../core/logger.js';
import { hasPendingResponse } from './parsing/malformed-requests.js';

/** The time that a partly received request has to arrive completely after the start of the shutdown. */
const REQUEST_ARRIVAL_TIMEOUT_MS = 1_000;

/**
 * Closes connections at the shutdown: responses that are still sent close their connection, and connections without a complete
 * request are destroyed, such as unused ones, and those whose client does not read the response.
 */
export function closeConnections(fastify: FastifyInstance, log: AppLogger): void {
  const sockets = new Set<Socket>();
  fastify.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  let isClosing = false;
  const counts = { answered: 0, cut: 0 };
  fastify.addHook('preClose', (done) => {
    isClosing = true;
    const startedAt = performance.now();
    // The server emits `close` after the end of the last connection.
    fastify.server.once('close', () => {
      log.info('requests ended', { ...counts, milliseconds: Math.round(performance.now() - startedAt) });
    });
    setTimeout(() => {
      for (const socket of sockets) if (!hasPendingResponse(socket)) destroy(socket);
    }, REQUEST_ARRIVAL_TIMEOUT_MS).unref();
    done();
  });
  const destroy = (socket: Socket) => {
    counts.cut += 1;
    socket.destroy();
  };
  fastify.addHook('onSend', (_request, reply, _payload, done) => {
    if (isClosing) reply.header('connection', 'close');
    done();
  });
  fastify.addHook('onResponse', (_request, _reply, done) => {
    if (isClosing) counts.answered += 1;
    done();
  });
}
