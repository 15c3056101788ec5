import { performance } from 'node:perf_hooks';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { problem, type Problem } from '../problems/problem.js';
import { acceptQueueLength } from './accept-queue-length.js';
import { AcceptQueue } from './accept-queue.js';
import { Admission, type ShedReason } from './admission.js';
import { answerFirst } from './answer-first.js';
import { refuseEarly } from './early-refusal.js';
import type { LoadLimits } from './load-limits.js';
import { ReturnTimes } from './return-times.js';
import { RequestQueue } from './request-queue.js';

/** The number of requests in progress, and the numbers of refused requests. */
export class LoadCounts {
  /** Requests whose body has arrived and whose response is not ready yet. */
  underWay = 0;
  /** Refused requests since the start of the process, by reason. */
  readonly shed: Record<ShedReason, number> = { waiting_time: 0, concurrent_requests: 0 };
}

/** Writes the responses to requests that are refused because of load. */
export interface ShedResponses {
  respond(refusal: Problem, request: IncomingMessage, response: ServerResponse): void;
  heartbeatRefusal(refusal: Problem): string;
}

/**
 * Refuses requests with `unavailable` by the load of the process, never by caller: no address, key or account is counted
 * (docs/contract.md#limits). Each request is checked twice: before Fastify receives it (then it may also be queued for a slot), and
 * when its body has arrived. While the kernel's queue is long, a heartbeat on a new connection is also checked before it is parsed.
 * Probes, and responses that are the same for each client (`servePrepared`), are never refused. This must be called before other
 * listeners of connections are added, because it replaces Node's own.
 * @returns the kernel's queue, for `closeConnections`
 */
export function shedLoad(
  fastify: FastifyInstance,
  writer: ShedResponses,
  limits: LoadLimits,
  load = new LoadCounts(),
): AcceptQueue {
  const { server } = fastify;
  const now = () => performance.now();
  let readLength: () => number | undefined = () => undefined;
  server.once('listening', () => (readLength = acceptQueueLength((server.address() as AddressInfo).port)));
  const acceptQueue = new AcceptQueue(now, () => readLength());
  const activeMs = () => performance.eventLoopUtilization().active;
  const admission = new Admission(limits, load, acceptQueue, now, activeMs);
  const returnTimes = new ReturnTimes();
  const createRefusal = (reason: ShedReason): Problem => {
    load.shed[reason] += 1;
    const seconds = returnTimes.next(now(), admission.perSecond, Math.random());
    return problem('unavailable', {}, { 'retry-after': String(seconds) });
  };
  const refuse = (isBackground: boolean, mayWait?: boolean): Problem | undefined => {
    const reason = admission.refusal(isBackground, mayWait);
    return reason && createRefusal(reason);
  };
  const requestQueue = new RequestQueue(admission, limits, now, () => createRefusal('concurrent_requests'));
  let isClosing = false;
  // At the shutdown the framework answers all requests, so that `closeConnections` sees the responses.
  refuseEarly(server, {
    mayRefuse: () => {
      acceptQueue.accepted();
      return !isClosing && admission.isQueueLong;
    },
    refusal: () => {
      const refusal = isClosing ? undefined : refuse(true);
      return refusal && writer.heartbeatRefusal(refusal);
    },
  });
  refuseOrWait(server, writer, refuse, requestQueue);
  fastify.addHook('preClose', (done) => {
    isClosing = true;
    requestQueue.end();
    done();
  });
  // At the shutdown a request may begin without a free slot: otherwise the requests of `requestQueue.end` would be refused.
  const refuseWithBody = (isBackground: boolean) => refuse(isBackground, isClosing);
  countRequests(fastify, load, refuseWithBody, () => {
    admission.answered();
    // In a later turn: otherwise a handler that answers without a pause would begin the next request recursively.
    if (requestQueue.length > 0) setImmediate(() => requestQueue.fillSlot());
  });
  return acceptQueue;
}

function refuseOrWait(
  server: Server,
  writer: ShedResponses,
  refuse: (isBackground: boolean, mayWait: boolean) => Problem | undefined,
  requestQueue: RequestQueue,
): void {
  answerFirst(server, (request, response, begin) => {
    if (isProbe(request)) return false;
    const { socket } = request;
    const isHeartbeat = isBackground(request);
    const respond = (refusal: Problem) => writer.respond(refusal, request, response);
    // Without a free slot, a request on a connection that stays open waits: if it were refused, a proxy would send the next request
    // on that connection at once. On a connection that closes it is refused, because no other request follows.
    const mayWait = response.shouldKeepAlive;
    const refusal = refuse(isHeartbeat, mayWait);
    const arrived = { isBackground: isHeartbeat, socket, response, begin, respond };
    if (!refusal) return mayWait && requestQueue.waitIfFull(arrived);
    respond(refusal);
    return true;
  });
}

// A request counts as in progress when its body has arrived, so that slow senders do not count. It counts until its response is
// ready: clients that do not read do not count, and the work for a client that has disconnected counts.
function countRequests(
  fastify: FastifyInstance,
  load: LoadCounts,
  refuse: (isBackground: boolean) => Problem | undefined,
  answered: () => void,
): void {
  const inProgress = new WeakSet<FastifyRequest>();
  fastify.addHook('preHandler', (request, _reply, done) => {
    if (isProbe(request.raw)) return done();
    const refusal = refuse(isBackground(request.raw));
    if (refusal) return done(refusal);
    load.underWay += 1;
    inProgress.add(request);
    done();
  });
  fastify.addHook('onSend', (request, _reply, _payload, done) => {
    if (inProgress.delete(request)) {
      load.underWay -= 1;
      answered();
    }
    done();
  });
}

// Requests of an orchestrator to `/health/` are always answered, because it would otherwise end a busy process.
function isProbe({ url }: IncomingMessage): boolean {
  return url!.startsWith('/health/');
}

function isBackground({ url }: IncomingMessage): boolean {
  return url === '/v1/heartbeat';
}
