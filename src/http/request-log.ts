import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Log } from './log.js';
import type { Traffic } from './traffic.js';

/** What is told of an answer, and nothing else: to the log, and to whatever counts. */
export interface Answered {
  /** The route's template, never the address that was asked for. */
  readonly route: string;
  readonly method: string;
  readonly status: number;
  readonly milliseconds: number;
  readonly request_id: string;
}

/** Tells of every answer that passes Fastify's hooks. */
export function tellAnswers(fastify: FastifyInstance, log: Log, traffic: Traffic | undefined): void {
  fastify.addHook('onResponse', (request, reply, done) => {
    tell(answered(request, reply), log, traffic);
    done();
  });
}

/** One structured line by allow-list, and one count. */
export function tell({ milliseconds, ...answer }: Answered, log: Log, traffic: Traffic | undefined): void {
  log.info('request', { ...answer, milliseconds: Math.round(milliseconds * 10) / 10 });
  traffic?.answered(answer.route, answer.method, answer.status, milliseconds / 1000);
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
