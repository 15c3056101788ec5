import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Config } from '../core/config.js';
import type { AppLogger } from '../core/logger.js';
import type { ShedResponses } from './limits/load-shedding.js';
import { waitedMs } from './limits/request-queue.js';
import { problemDocument, type Problem } from './problems/problem.js';
import { problemBytes, problemHeaders } from './responses/problem-bytes.js';
import type { RequestCounts } from './responses/request-counts.js';
import { logResponse } from './responses/response-log.js';

/**
 * Writes, logs and counts the responses to requests that are refused because of load before Fastify receives them. Fastify is left
 * out, because a refusal must cost much less than an answer: otherwise an overloaded service would be busy with refusing.
 */
export class RefusalWriter implements ShedResponses {
  constructor(
    private readonly config: Pick<Config, 'publicUrl'>,
    private readonly log: AppLogger,
    private readonly requestCounts?: RequestCounts,
  ) {}

  /** Responds to a request that Node has parsed. The connection stays open, unless the client asked to close it. */
  respond(refusal: Problem, request: IncomingMessage, response: ServerResponse): void {
    // A path can contain any text of a client, so it is not logged. Heartbeats, nearly all of these requests, are named.
    const route = request.url === '/v1/heartbeat' ? request.url : 'none';
    const body = this.#record(refusal, route, request.method!, waitedMs(response));
    response.writeHead(refusal.status, problemHeaders(refusal, body)).end(body);
  }

  /** Returns the bytes of the response to a heartbeat that was not parsed. */
  heartbeatRefusal(refusal: Problem): string {
    return problemBytes(refusal, this.#record(refusal, '/v1/heartbeat', 'POST', 0));
  }

  /** Logs and counts the response. @returns its body */
  #record(refusal: Problem, route: string, method: string, milliseconds: number): string {
    const requestId = randomUUID();
    if (this.requestCounts) this.requestCounts.problems[refusal.code] += 1;
    const { status } = refusal;
    logResponse({ route, method, status, milliseconds, request_id: requestId }, this.log, this.requestCounts);
    return problemDocument(refusal, this.config.publicUrl, requestId);
  }
}
