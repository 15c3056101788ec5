import underPressure from '@fastify/under-pressure';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { problem } from './problem.js';

/** What one process carries before it turns requests away. */
export const LIMITS = {
  /** Beyond this mean delay of the event loop a new request would wait longer than it is worth; 0: never. */
  eventLoopDelayMs: 500,
  /** Requests under way at once; more are turned away while these are finished. */
  concurrentRequests: 2_000,
};

/**
 * Connections that wait to be taken. Node asks for 511, which a herd fills within milliseconds: whoever comes then is not
 * told to come later, but waits for seconds on end and is reset.
 */
export const BACKLOG = 4_096;

/**
 * Sheds load by what the process can carry, never by who calls: no address, key or account is counted here
 * (contract, Limits).
 */
export async function shedUnderPressure(fastify: FastifyInstance, limits = LIMITS): Promise<void> {
  await fastify.register(underPressure, {
    maxEventLoopDelay: limits.eventLoopDelayMs,
    pressureHandler: (request) => {
      if (!isProbe(request)) throw problem('unavailable');
    },
  });
  let underWay = 0;
  fastify.addHook('onRequest', (request, reply, done) => {
    underWay += 1;
    // `close` comes once for every answer, also where the caller has gone.
    reply.raw.once('close', () => (underWay -= 1));
    done(underWay > limits.concurrentRequests && !isProbe(request) ? problem('unavailable') : undefined);
  });
}

// A busy process is alive: an orchestrator that is told otherwise would end it in the middle of its work.
function isProbe(request: FastifyRequest): boolean {
  return request.routeOptions.url?.startsWith('/health/') ?? false;
}
