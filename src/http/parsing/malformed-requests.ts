import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { v4 as uuidv4 } from 'uuid';
import { Config } from '../../core/config.js';
import { SECURITY_HEADERS } from '../strip-client-address.js';
import { AppLogger } from '../../core/logger.js';
import { problem, problemDocument } from '../problems/problem.js';
import type { RequestCounts } from '../responses/request-counts.js';

/** The latest answer of each socket, given or still owed. */
const answering = new WeakMap<Socket, ServerResponse>();

/**
 * Takes from Node what it would answer by itself, without a problem document: a request without `host`, and one with
 * an expectation that nobody here has.
 */
export function handleMalformedRequests(fastify: FastifyInstance): void {
  const { server } = fastify;
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    answering.set(socket, response);
  });
  // RFC 9110, 10.1.1: an unknown expectation may be passed over.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  fastify.addHook('onRequest', ({ raw }, _reply, done) => {
    const lacksHost = raw.httpVersion === '1.1' && raw.headers.host === undefined;
    done(lacksHost ? problem('malformed_request', {}, { connection: 'close' }) : undefined);
  });
}

/** Whether a whole request has come over this socket whose answer is still to come. */
export function owesAnswer(socket: Socket): boolean {
  const answer = answering.get(socket);
  return answer !== undefined && answer.req.complete && !answer.writableFinished;
}

/**
 * Answers what is not HTTP (a broken request line, too many headers, a request that never ends). Fastify's own handler
 * would log the raw packet; this one logs the parser's code alone.
 */
export function refuseMalformed(
  error: Error & { code?: string },
  socket: Socket,
  config: Config,
  log: AppLogger,
  traffic?: RequestCounts,
): void {
  const last = answering.get(socket);
  // Behind a request that waits for its answer, ours would be taken for that one's; and a request that was answered
  // before it had come whole has its answer.
  const isAnswered = last !== undefined && last.writableFinished && !last.req.complete;
  if (error.code === 'ECONNRESET' || owesAnswer(socket) || isAnswered || !socket.writable)
    return void socket.destroy();
  const requestId = uuidv4();
  log.info('malformed request', { code: error.code, request_id: requestId });
  // Who sends too slowly has no bug: a poor line may be better later.
  const refusal = problem(error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'unavailable' : 'malformed_request');
  if (traffic) traffic.refusals[refusal.code] += 1;
  const body = problemDocument(refusal, config.publicUrl, requestId);
  const headers = {
    ...SECURITY_HEADERS,
    ...refusal.headers,
    'content-type': 'application/problem+json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\n${lines.join('')}\r\n${body}`);
}
