import type { FastifyInstance } from 'fastify';
import { problem } from './problem.js';

/** With what the answer itself takes to be sent, within the 2 seconds of a 503. */
const DEADLINE_MS = 1_900;

/**
 * Asks a caller for patience when its answer is late: each statement has a limit of its own, and of a database that is
 * merely slow several of them add up. What was begun may still be done; every call is safe to repeat (decision 0004).
 */
export function answerInTime(fastify: FastifyInstance): void {
  // From here on the time is ours: the body of a slow sender has arrived.
  fastify.addHook('preHandler', (_request, reply, done) => {
    const late = setTimeout(() => {
      if (!reply.sent && !reply.raw.headersSent) reply.send(problem('unavailable'));
    }, DEADLINE_MS).unref();
    reply.raw.once('close', () => clearTimeout(late));
    done();
  });
}
