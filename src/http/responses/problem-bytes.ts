import { STATUS_CODES } from 'node:http';
import type { Problem } from '../problems/problem.js';
import { SECURITY_HEADERS } from './security-headers.js';

/** Returns the headers of a problem whose response is written without Fastify. */
export const problemHeaders = (refusal: Problem, body: string) => ({
  ...SECURITY_HEADERS,
  ...refusal.headers,
  'content-type': 'application/problem+json',
  'content-length': Buffer.byteLength(body),
});

/** Returns the complete text of a response that is written to the socket itself, with the header `connection: close`. */
export function problemBytes(refusal: Problem, body: string): string {
  const headers = { ...problemHeaders(refusal, body), date: new Date().toUTCString(), connection: 'close' };
  let head = `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\n`;
  for (const [name, value] of Object.entries(headers)) head += `${name}: ${value}\r\n`;
  return `${head}\r\n${body}`;
}
