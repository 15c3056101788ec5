import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { problem } from '../problems/problem.js';

/** The load of a process from which on it refuses requests. */
export const LIMITS = {
  /** The largest mean delay of the event loop in the last second; 0 disables the check. */
  eventLoopDelayMs: 500,
  /** The largest number of requests in progress. */
  concurrentRequests: 2_000,
};

/** The number of requests in progress, and the numbers of refused requests. */
export class LoadCounts {
  /** Requests whose body has arrived and whose response is not ready yet. */
  underWay = 0;
  /** Refused requests since the start of the process, by reason. */
  readonly shed = { event_loop_delay: 0, concurrent_requests: 0 };
}

/** The interval at which the measured delays of the event loop are evaluated. */
const MEASUREMENT_INTERVAL_MS = 1_000;
/** The interval of the measurements, which is contained in each measured delay. */
const RESOLUTION_MS = 10;

/**
 * The largest number of connections that wait until the process accepts them. With Node's default of 511, many clients at once
 * would fill the queue within milliseconds, and further connections would wait for seconds and be reset, without a response.
 */
export const BACKLOG = 4_096;

/**
 * Refuses requests with `unavailable` by the load of the process, never by caller: no address, key or account is counted
 * (docs/contract.md#limits). The check runs before the body is read, and again when the body has arrived.
 */
export function shedLoad(fastify: FastifyInstance, limits = LIMITS, load = new LoadCounts()): void {
  const isLoopSlow =
    limits.eventLoopDelayMs > 0 ? watchEventLoop(fastify, limits.eventLoopDelayMs) : () => false;
  const overloadReason = () => {
    if (load.underWay >= limits.concurrentRequests) return 'concurrent_requests';
    return isLoopSlow() ? 'event_loop_delay' : undefined;
  };
  const refusalOf = (request: FastifyRequest) => {
    const reason = isProbe(request) ? undefined : overloadReason();
    if (reason === undefined) return undefined;
    load.shed[reason] += 1;
    return problem('unavailable');
  };
  // This hook runs before the body is read, so that a refusal costs almost nothing.
  fastify.addHook('onRequest', (request, _reply, done) => done(refusalOf(request)));
  const inProgress = new WeakSet<FastifyRequest>();
  // A request counts as in progress when its body has arrived, so that slow senders do not count.
  fastify.addHook('preHandler', (request, _reply, done) => {
    if (isProbe(request)) return done();
    const refusal = refusalOf(request);
    if (refusal) return done(refusal);
    load.underWay += 1;
    inProgress.add(request);
    done();
  });
  // A request counts until its response is ready: clients that do not read do not count, and the work for a client that has
  // disconnected counts.
  fastify.addHook('onSend', (request, _reply, _payload, done) => {
    if (inProgress.delete(request)) load.underWay -= 1;
    done();
  });
}

// Returns a function that says whether the mean delay of the last interval was above the limit. The measurement opens no file, so
// it also works in a process without free file descriptors.
function watchEventLoop(fastify: FastifyInstance, limitMs: number): () => boolean {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  let isLoopSlow = false;
  const timer = setInterval(() => {
    // If there is no measurement, the event loop was blocked for the whole interval.
    const delayMs = delays.count === 0 ? MEASUREMENT_INTERVAL_MS : delays.mean / 1e6 - RESOLUTION_MS;
    isLoopSlow = delayMs > limitMs;
    delays.reset();
  }, MEASUREMENT_INTERVAL_MS).unref();
  fastify.addHook('onClose', (_instance, done) => {
    clearInterval(timer);
    delays.disable();
    done();
  });
  return () => isLoopSlow;
}

// Requests of an orchestrator to `/health/` are always answered, because it would otherwise end a busy process.
function isProbe(request: FastifyRequest): boolean {
  return request.routeOptions.url?.startsWith('/health/') ?? false;
}
