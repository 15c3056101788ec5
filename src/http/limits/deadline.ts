import type { FastifyInstance, preHandlerHookHandler } from 'fastify';
import { REQUEST_TIMEOUTS_MS } from '../../database/request-timeouts.js';
import { problem } from '../problems/problem.js';
import { waitedMs } from './request-queue.js';

/**
 * Answers a request of the client API (`/v1/`) with `unavailable` when its response takes too long: each statement has a time
 * limit, but several slow statements add up. The request may still be carried out, so only these requests, which are safe to
 * repeat, have a deadline (docs/decisions/0004).
 */
export function enforceDeadline(fastify: FastifyInstance): void {
  fastify.addHook('onRoute', (route) => {
    if (route.url.startsWith('/v1/')) route.preHandler = [route.preHandler ?? [], startDeadline].flat();
  });
}

// This hook runs when the body has arrived, so the time of a slow sender does not count. The wait for a slot does.
const startDeadline: preHandlerHookHandler = (_request, reply, done) => {
  const timer = setTimeout(
    () => {
      if (!reply.sent && !reply.raw.headersSent) reply.send(problem('unavailable'));
    },
    REQUEST_TIMEOUTS_MS.answer - waitedMs(reply.raw),
  ).unref();
  reply.raw.once('close', () => clearTimeout(timer));
  done();
};
