import type { FastifyInstance, preHandlerHookHandler } from 'fastify';
import { REQUEST_TIMEOUTS_MS } from '../../database/request-timeouts.js';
import { problem } from '../problems/problem.js';

/**
 * Asks a client for patience when its answer is late: each statement has a limit of its own, and of a database that is
 * merely slow several of them add up. What was begun may still be done, so only calls of clients, which are safe to
 * repeat, have a deadline; what people do may not be, and a probe has limits of its own (decision 0004).
 */
export function enforceDeadline(fastify: FastifyInstance): void {
  fastify.addHook('onRoute', (route) => {
    if (route.url.startsWith('/v1/')) route.preHandler = [route.preHandler ?? [], askForPatience].flat();
  });
}

// From here on the time is ours: the body of a slow sender has arrived.
const askForPatience: preHandlerHookHandler = (_request, reply, done) => {
  const late = setTimeout(() => {
    if (!reply.sent && !reply.raw.headersSent) reply.send(problem('unavailable'));
  }, REQUEST_TIMEOUTS_MS.answer).unref();
  reply.raw.once('close', () => clearTimeout(late));
  done();
};
