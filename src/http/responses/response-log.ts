import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Log, type Answered } from '../../core/logger.js';
import type { Traffic } from './request-counts.js';

/** Tells of every answer that passes Fastify's hooks. */
export function tellAnswers(fastify: FastifyInstance, log: Log, traffic: Traffic | undefined): void {
  fastify.addHook('onResponse', (request, reply, done) => {
    tell(answered(request, reply), log, traffic);
    done();
  });
}

/** One structured line by allow-list, and one count. */
export function tell(answer: Answered, log: Log, traffic: Traffic | undefined): void {
  log.answered(answer);
  traffic?.answered(answer.route, answer.method, answer.status, answer.milliseconds / 1000);
}

export function answered(request: FastifyRequest, reply: FastifyReply): Answered {
  return {
    route: (request.is404 ? undefined : request.routeOptions.url) ?? 'none',
    method: request.method,
    status: reply.statusCode,
    milliseconds: reply.elapsedTime,
    request_id: request.id,
  };
}
