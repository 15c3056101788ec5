import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Log } from './log.js';

/** What is told of a request, and nothing else. */
export interface RequestLine {
  /** The route's template, never the address that was asked for. */
  readonly route: string;
  readonly method: string;
  readonly status: number;
  readonly milliseconds: number;
  readonly request_id: string;
}

/** Writes a line for every answer that passes Fastify's hooks. */
export function logRequests(fastify: FastifyInstance, log: Log): void {
  fastify.addHook('onResponse', (request, reply, done) => {
    logRequest(request, reply, log);
    done();
  });
}

/** One structured line a request, by allow-list. */
export function logRequest(request: FastifyRequest, reply: FastifyReply, log: Log): void {
  logLine(log, {
    route: request.is404 ? 'none' : request.routeOptions.url!,
    method: request.method,
    status: reply.statusCode,
    milliseconds: reply.elapsedTime,
    request_id: request.id,
  });
}

export function logLine(log: Log, { milliseconds, ...line }: RequestLine): void {
  log.info('request', { ...line, milliseconds: Math.round(milliseconds * 10) / 10 });
}
