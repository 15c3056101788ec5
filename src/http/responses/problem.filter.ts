import { ArgumentsHost, Catch, ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Config } from '../../core/config.js';
import { BatchQueueFull } from '../../database/batch.js';
import { isTemporaryDatabaseError } from '../../database/temporary-errors.js';
import { AppLogger } from '../../core/logger.js';
import { Problem, problem, problemDocument, type ProblemCode } from '../problems/problem.js';
import { RequestCounts } from './request-counts.js';
import { SECURITY_HEADERS } from './security-headers.js';

/** The problems for errors of Fastify and Nest, by status. */
const BY_STATUS: Readonly<Record<number, ProblemCode>> = {
  400: 'malformed_request',
  404: 'not_found',
  405: 'method_not_allowed',
  413: 'body_too_large',
  // Fastify: a parameter in the path has more than 100 characters, so nothing exists at this address.
  414: 'not_found',
  415: 'unsupported_media_type',
  503: 'unavailable',
};

/**
 * Turns everything that is thrown into a response: a problem as it is, a temporary error of the database into `unavailable`, the
 * error of a client that disconnected into `malformed_request`, an error of Fastify or Nest into the problem of its status, and any
 * other error into `internal_error`. An unexpected error with a status from 500 on is logged in one line, without its message.
 */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(
    private readonly config: Config,
    private readonly log: AppLogger,
    private readonly requestCounts?: RequestCounts,
  ) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.answer(thrown, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
  }

  /** Sends the response to a request whose handling threw, unless a response was sent already. */
  answer(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const refusal = asProblem(thrown);
    if (refusal.status >= 500 && !isExpected(thrown)) {
      this.log.failed(refusal.code, thrown, { request_id: request.id });
    }
    // `enforceDeadline` has already sent a response.
    if (reply.sent) return;
    if (this.requestCounts) this.requestCounts.problems[refusal.code] += 1;
    // A hook of Nest refuses some URLs (`GET *`) before the hook that sets these headers.
    void reply
      .code(refusal.status)
      .headers({ ...SECURITY_HEADERS, ...refusal.headers })
      .type('application/problem+json')
      .send(problemDocument(refusal, this.config.publicUrl, request.id));
  }
}

// An expected error is counted and not logged, because during an overload there would be a line for each request.
function isExpected(thrown: unknown): boolean {
  return thrown instanceof Problem || thrown instanceof BatchQueueFull;
}

function asProblem(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  if (isTemporaryDatabaseError(thrown)) return problem('unavailable');
  // The client disconnected while sending its body and does not read the response.
  if ((thrown as { code?: unknown } | null)?.code === 'ECONNRESET') return problem('malformed_request');
  const { statusCode, getStatus } = (thrown ?? {}) as { statusCode?: unknown; getStatus?: () => number };
  const status = typeof getStatus === 'function' ? getStatus.call(thrown) : statusCode;
  return problem((typeof status === 'number' && BY_STATUS[status]) || 'internal_error');
}
