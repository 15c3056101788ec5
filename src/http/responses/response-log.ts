import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppLogger, type ResponseRecord } from '../../core/logger.js';
import { waitedMs } from '../limits/request-queue.js';
import type { RequestCounts } from './request-counts.js';

/** Logs and counts every response that passes Fastify's hooks. */
export function logResponses(
  fastify: FastifyInstance,
  log: AppLogger,
  requestCounts: RequestCounts | undefined,
): void {
  fastify.addHook('onResponse', (request, reply, done) => {
    logResponse(responseRecord(request, reply), log, requestCounts);
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
