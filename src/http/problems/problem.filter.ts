import { ArgumentsHost, Catch, ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Config } from '../../core/config.js';
import { TooManyWait } from '../../database/batch.js';
import { isConnectionError } from '../../database/connection-errors.js';
import { AppLogger } from '../../core/logger.js';
import { Problem, problem, problemDocument, type ProblemCode } from './problem.js';
import { RequestCounts } from '../responses/request-counts.js';

/** What Fastify and Nest throw by themselves, by status. */
const BY_STATUS: Readonly<Record<number, ProblemCode>> = {
  400: 'malformed_request',
  404: 'not_found',
  405: 'method_not_allowed',
  413: 'body_too_large',
  414: 'not_found',
  415: 'unsupported_media_type',
  503: 'unavailable',
};

/**
 * The one place where anything thrown becomes an answer. A problem is what it is; an outage of the database is a 503;
 * anything unforeseen is a bare 500 outside, and one full line inside.
 */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(
    private readonly config: Config,
    private readonly log: AppLogger,
    private readonly traffic?: RequestCounts,
  ) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.answer(thrown, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
  }

  answer(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const refusal = asProblem(thrown);
    if (refusal.status >= 500 && !isForeseen(thrown)) {
      this.log.failed(refusal.code, thrown, { request_id: request.id });
    }
    // What failed after its deadline has its answer.
    if (reply.sent) return;
    if (this.traffic) this.traffic.refusals[refusal.code] += 1;
    void reply
      .code(refusal.status)
      .headers(refusal.headers)
      .type('application/problem+json')
      .send(problemDocument(refusal, this.config.publicUrl, request.id));
  }
}

// Where too many wait, each would be one more line at the worst moment; they are counted as refusals.
function isForeseen(thrown: unknown): boolean {
  return thrown instanceof Problem || thrown instanceof TooManyWait;
}

function asProblem(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  if (isConnectionError(thrown)) return problem('unavailable');
  // The caller went away in the middle of its body; nobody reads the answer.
  if ((thrown as { code?: unknown } | null)?.code === 'ECONNRESET') return problem('malformed_request');
  const { statusCode, getStatus } = (thrown ?? {}) as { statusCode?: unknown; getStatus?: () => number };
  const status = typeof getStatus === 'function' ? getStatus.call(thrown) : statusCode;
  return problem((typeof status === 'number' && BY_STATUS[status]) || 'internal_error');
}
