import type { Socket } from 'node:net';
import { v4 as uuidv4 } from 'uuid';
import { Config } from '../config.js';
import { Log } from './log.js';
import { problem, problemDocument } from './problem.js';

/**
 * Answers what is not HTTP (a broken request line, too many headers, a request that never ends). Fastify's own handler
 * would log the raw packet; this one logs the parser's code alone.
 */
export function refuseMalformed(
  error: Error & { code?: string },
  socket: Socket,
  config: Config,
  log: Log,
): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) return void socket.destroy();
  const requestId = uuidv4();
  log.info('malformed request', { code: error.code, request_id: requestId });
  const body = problemDocument(problem('malformed_request'), config.publicUrl, requestId);
  socket.end(
    'HTTP/1.1 400 Bad Request\r\ncontent-type: application/problem+json\r\ncache-control: no-store\r\n' +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
