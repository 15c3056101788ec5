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

/** What one process carries, and what it has turned away. */
export class Load {
  /** Requests that came and whose answer is not over. */
  underWay = 0;
  /** Turned away since the start, by what was too much. */
  readonly shed = { event_loop_delay: 0, concurrent_requests: 0 };
}

/**
 * Sheds load by what the process can carry, never by who calls: no address, key or account is counted here
 * (contract, Limits).
 */
export async function shedUnderPressure(
  fastify: FastifyInstance,
  limits = LIMITS,
  load = new Load(),
): Promise<void> {
  await fastify.register(underPressure, {
    maxEventLoopDelay: limits.eventLoopDelayMs,
    pressureHandler: (request) => {
      if (isProbe(request)) return;
      load.shed.event_loop_delay += 1;
      throw problem('unavailable');
    },
  });
  fastify.addHook('onRequest', (request, reply, done) => {
    load.underWay += 1;
    // `close` comes once for every answer, also where the caller has gone.
    reply.raw.once('close', () => (load.underWay -= 1));
    if (load.underWay <= limits.concurrentRequests || isProbe(request)) return done();
    load.shed.concurrent_requests += 1;
    done(problem('unavailable'));
  });
}

// A busy process is alive: an orchestrator that is told otherwise would end it in the middle of its work.
function isProbe(request: FastifyRequest): boolean {
  return request.routeOptions.url?.startsWith('/health/') ?? false;
}
