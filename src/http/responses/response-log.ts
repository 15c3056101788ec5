import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppLogger, type ResponseRecord } from '../../core/logger.js';
import { waitedMs } from '../limits/request-queue.js';
import type { RequestCounts } from './request-counts.js';

/**
 * Logs and counts every response that passes Fastify's hooks, when its sending has ended. A complete request whose client has gone
 * meanwhile is logged too, with the response that it would have received: its work may have changed something.
 */
export function logResponses(
  fastify: FastifyInstance,
  log: AppLogger,
  requestCounts: RequestCounts | undefined,
): void {
  const seen = new WeakSet<FastifyReply>();
  // Fastify calls `onResponse` only for a response that was sent completely, and `onSend` again for the error of a failed sending.
  fastify.addHook('onSend', (request, reply, _payload, done) => {
    if (seen.has(reply)) return done();
    seen.add(reply);
    const { raw } = reply;
    const write = () => logResponse(responseRecord(request, reply), log, requestCounts);
    if (!raw.destroyed) raw.once('close', write);
    else if (request.raw.complete) write();
    done();
  });
}

/** Writes one log line with the fields of ResponseRecord, and counts the response. */
export function logResponse(
  record: ResponseRecord,
  log: AppLogger,
  requestCounts: RequestCounts | undefined,
): void {
  log.logResponse(record);
  requestCounts?.count(record.route, record.method, record.status, record.milliseconds / 1000);
}

/** Returns what is logged and counted about a response. */
export function responseRecord(request: FastifyRequest, reply: FastifyReply): ResponseRecord {
  return {
    route: (request.is404 ? undefined : request.routeOptions.url) ?? 'none',
    method: request.method,
    status: reply.statusCode,
    milliseconds: waitedMs(reply.raw) + reply.elapsedTime,
    request_id: request.id,
  };
}
