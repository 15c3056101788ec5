import { randomUUID } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { FastifyInstance } from 'fastify';
import { AppLogger } from '../../core/logger.js';
import { answerFirst } from '../limits/answer-first.js';
import { logResponse } from './response-log.js';
import { sendTogether } from './send-together.js';

/** A response that is prepared in memory, the same for every client. */
export interface PreparedResponse {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: string;
}

/**
 * Answers GET and HEAD of a path before the framework receives the request (docs/decisions/0017). Fastify's listener handles all
 * other requests. It also handles the requests for this path that spell it differently, have a body, or arrive during the shutdown:
 * a route of Fastify for the same path gives the same response. Requests without the header `host` reach it too, and those of
 * HTTP/1.1 are refused (`handleMalformedRequests`).
 * @param respond returns the prepared response for this value of the header `if-none-match`; null if no response is prepared
 */
export function servePrepared(
  { server, requestCounts }: FastifyInstance,
  path: string,
  respond: (ifNoneMatch: string | undefined) => PreparedResponse | null,
  log: AppLogger,
): void {
  const send = sendTogether(server);
  answerFirst(server, (request, response) => {
    const startedAt = performance.now();
    const prepared = isPlainGet(request, path) ? respond(request.headers['if-none-match']) : null;
    if (!prepared) return false;
    const { status, headers, body } = prepared;
    send(() => {
      response.writeHead(status, headers).end(body);
      const milliseconds = performance.now() - startedAt;
      logResponse(
        { route: path, method: request.method!, status, milliseconds, request_id: randomUUID() },
        log,
        requestCounts,
      );
    });
    return true;
  });
}

function isPlainGet({ method, url, headers }: IncomingMessage, path: string): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false;
  const isPath = url === path || url!.startsWith(`${path}?`);
  return isPath && headers.host !== undefined && !headers['content-length'] && !headers['transfer-encoding'];
}
