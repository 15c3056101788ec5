import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { owesAnswer } from './malformed.js';

/** A request that is still arriving when we close gets this long to arrive whole. */
const ARRIVAL_MS = 1_000;

/**
 * Lets a process that has finished its work end: answers that are still given close their connection, and connections
 * that wait for nothing of ours (opened ahead, half a request, a body nobody reads) are cut.
 */
export function closeConnections(fastify: FastifyInstance): void {
  const sockets = new Set<Socket>();
  fastify.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  let closing = false;
  fastify.addHook('preClose', (done) => {
    closing = true;
    setTimeout(() => {
      for (const socket of sockets) if (!owesAnswer(socket)) socket.destroy();
    }, ARRIVAL_MS).unref();
    done();
  });
  fastify.addHook('onSend', (_request, reply, _payload, done) => {
    if (closing) reply.header('connection', 'close');
    done();
  });
}
