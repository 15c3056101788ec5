import type { FastifyInstance } from 'fastify';
import { Log } from './log.js';

/** One structured line a request, by allow-list: route template, method, status, milliseconds, request id. */
export function logRequests(fastify: FastifyInstance, log: Log): void {
  fastify.addHook('onResponse', (request, reply, done) => {
    log.info('request', {
      route: request.is404 ? 'none' : request.routeOptions.url,
      method: request.method,
      status: reply.statusCode,
      milliseconds: Math.round(reply.elapsedTime * 10) / 10,
      request_id: request.id,
    });
    done();
  });
}
