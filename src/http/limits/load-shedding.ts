import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { problem } from '../problems/problem.js';

/** What one process carries before it turns requests away. */
export const LIMITS = {
  /** Beyond this mean delay of the event loop a new request would wait longer than it is worth; 0: never. */
  eventLoopDelayMs: 500,
  /** Requests under way at once; more are turned away while these are finished. */
  concurrentRequests: 2_000,
};

/** What one process carries, and what it has turned away. */
export class LoadCounts {
  /** Requests that came and whose answer is not ready. */
  underWay = 0;
  /** Turned away since the start, by what was too much. */
  readonly shed = { event_loop_delay: 0, concurrent_requests: 0 };
}

/** How often the event loop tells its delay, and how finely it is measured. */
const LOOK_MS = 1_000;
const RESOLUTION_MS = 10;

/**
 * Connections that wait to be taken. Node asks for 511, which a herd fills within milliseconds: whoever comes then is not
 * told to come later, but waits for seconds on end and is reset.
 */
export const BACKLOG = 4_096;

/**
 * Sheds load by what the process can carry, never by who calls: no address, key or account is counted here
 * (docs/contract.md#limits).
 */
export function shedLoad(fastify: FastifyInstance, limits = LIMITS, load = new LoadCounts()): void {
  const isLate = limits.eventLoopDelayMs > 0 ? watchEventLoop(fastify, limits.eventLoopDelayMs) : () => false;
  const tooMuch = () => {
    if (load.underWay >= limits.concurrentRequests) return 'concurrent_requests';
    return isLate() ? 'event_loop_delay' : undefined;
  };
  const refusal = (request: FastifyRequest) => {
    const reason = isProbe(request) ? undefined : tooMuch();
    if (reason === undefined) return undefined;
    load.shed[reason] += 1;
    return problem('unavailable');
  };
  // Before its body is read: whoever is turned away costs next to nothing.
  fastify.addHook('onRequest', (request, _reply, done) => done(refusal(request)));
  const seated = new WeakSet<FastifyRequest>();
  // Once its body has arrived: a slow sender holds a socket, never a seat.
  fastify.addHook('preHandler', (request, _reply, done) => {
    if (isProbe(request)) return done();
    const refused = refusal(request);
    if (refused) return done(refused);
    load.underWay += 1;
    seated.add(request);
    done();
  });
  // Until the answer is ready, and neither longer nor shorter: who reads nothing holds a socket too, and who has gone
  // leaves work behind.
  fastify.addHook('onSend', (request, _reply, _payload, done) => {
    if (seated.delete(request)) load.underWay -= 1;
    done();
  });
}

// Nothing here asks the system: a process that is out of file descriptors could not be told how much memory it has.
function watchEventLoop(fastify: FastifyInstance, limitMs: number): () => boolean {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  let isLate = false;
  const timer = setInterval(() => {
    // Without a single measurement it stood still for the whole time.
    isLate = delays.count === 0 || delays.mean / 1e6 - RESOLUTION_MS > limitMs;
    delays.reset();
  }, LOOK_MS).unref();
  fastify.addHook('onClose', (_instance, done) => {
    clearInterval(timer);
    delays.disable();
    done();
  });
  return () => isLate;
}

// A busy process is alive: an orchestrator that is told otherwise would end it in the middle of its work.
function isProbe(request: FastifyRequest): boolean {
  return request.routeOptions.url?.startsWith('/health/') ?? false;
}
