import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { Config } from '../core/config.js';
import { answerFirst } from './limits/answer-first.js';
import { AppLogger } from '../core/logger.js';
import { problem, problemDocument } from './problems/problem.js';
import { problemBytes } from './responses/problem-bytes.js';
import type { RequestCounts } from './responses/request-counts.js';

/** The response to the latest request of each socket, without those of `servePrepared`, which this listener does not see. */
const latestResponses = new WeakMap<Socket, ServerResponse>();

/**
 * Handles requests that Node would answer by itself, without a problem document: requests without the header `host`, and requests
 * with an unknown value of the header `expect`. It also refuses the method `PRI`, with which HTTP/2 begins: Node accepts it in a
 * request line without an HTTP version, and no hook of Fastify would see it.
 */
export function handleMalformedRequests(fastify: FastifyInstance): void {
  const { server } = fastify;
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    latestResponses.set(socket, response);
  });
  answerFirst(server, ({ method, socket }) => {
    if (method !== 'PRI') return false;
    server.emit(
      'clientError',
      Object.assign(new Error('The method is PRI.'), { code: 'METHOD_PRI' }),
      socket,
    );
    return true;
  });
  // RFC 9110, section 10.1.1: an unknown expectation may be ignored.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  fastify.addHook('onRequest', ({ raw }, _reply, done) => {
    const lacksHost = raw.httpVersion === '1.1' && raw.headers.host === undefined;
    done(lacksHost ? problem('malformed_request', {}, { connection: 'close' }) : undefined);
  });
}

/**
 * Whether this socket has a complete request whose response is not completely passed to the operating system. With pipelined
 * requests, Node gives a response its socket only after the response before it: without a socket, an earlier and complete request
 * still waits for its response.
 */
export function hasPendingResponse(socket: Socket): boolean {
  const response = latestResponses.get(socket);
  if (response === undefined || response.writableFinished) return false;
  return response.req.complete || response.socket === null;
}

/**
 * Responds to invalid HTTP (a broken request line, too many headers, a request that does not end). It logs only the error code of
 * the parser; Fastify's own handler would log the raw packet.
 */
export function refuseMalformed(
  error: Error & { code?: string },
  socket: Socket,
  config: Config,
  log: AppLogger,
  requestCounts?: RequestCounts,
): void {
  const latest = latestResponses.get(socket);
  // The socket is destroyed if the client could take the response as that to an earlier, unanswered request, or if the
  // request was answered before it was complete.
  const isAnsweredEarly = latest !== undefined && latest.headersSent && !latest.req.complete;
  if (error.code === 'ECONNRESET' || hasPendingResponse(socket) || isAnsweredEarly || !socket.writable)
    return void socket.destroy();
  const requestId = randomUUID();
  log.info('malformed request', { code: error.code, request_id: requestId });
  // A slow request is no bug of the client: `unavailable` makes it try again later.
  const refusal = problem(error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'unavailable' : 'malformed_request');
  if (requestCounts) requestCounts.problems[refusal.code] += 1;
  const body = problemDocument(refusal, config.publicUrl, requestId);
  socket.end(problemBytes(refusal, body));
}
