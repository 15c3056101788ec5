import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { AppLogger } from '../core/logger.js';
import { owesAnswer } from './parsing/malformed-requests.js';

/** A request that is still arriving when we close gets this long to arrive whole. */
const ARRIVAL_MS = 1_000;

/**
 * Lets a process that has finished its work end: answers that are still given close their connection, and connections
 * that wait for nothing of ours (opened ahead, half a request, a body nobody reads) are cut.
 */
export function closeConnections(fastify: FastifyInstance, log: AppLogger): void {
  const sockets = new Set<Socket>();
  fastify.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  let closing = false;
  const ended = { answered: 0, cut: 0 };
  fastify.addHook('preClose', (done) => {
    closing = true;
    const started = performance.now();
    // Comes when every connection has ended.
    fastify.server.once('close', () => {
      log.info('requests ended', { ...ended, milliseconds: Math.round(performance.now() - started) });
    });
    setTimeout(() => {
      for (const socket of sockets) if (!owesAnswer(socket)) cut(socket);
    }, ARRIVAL_MS).unref();
    done();
  });
  const cut = (socket: Socket) => {
    ended.cut += 1;
    socket.destroy();
  };
  fastify.addHook('onSend', (_request, reply, _payload, done) => {
    if (closing) reply.header('connection', 'close');
    done();
  });
  fastify.addHook('onResponse', (_request, _reply, done) => {
    if (closing) ended.answered += 1;
    done();
  });
}
