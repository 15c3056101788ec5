import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Log } from './log.js';

/** Writes a line for every answer that passes Fastify's hooks. */
export function logRequests(fastify: FastifyInstance, log: Log): void {
  fastify.addHook('onResponse', (request, reply, done) => {
    logRequest(request, reply, log);
    done();
  });
}

/** One structured line a request, by allow-list: route template, method, status, milliseconds, request id. */
export function logRequest(request: FastifyRequest, reply: FastifyReply, log: Log): void {
  log.info('request', {
    route: request.is404 ? 'none' : request.routeOptions.url,
    method: request.method,
    status: reply.statusCode,
    milliseconds: Math.round(reply.elapsedTime * 10) / 10,
    request_id: request.id,
  });
}
