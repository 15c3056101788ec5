import type { FastifyInstance } from 'fastify';

/** Headers of every response. A route may replace their values. */
export const SECURITY_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const;

/**
 * Adds SECURITY_HEADERS to each response that passes Fastify's hooks. They are set on Fastify's reply, which gives all headers to
 * `writeHead` together. Headers that are set on Node's response one by one take longer.
 */
export function addSecurityHeaders(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', (_request, reply, done) => {
    reply.headers(SECURITY_HEADERS);
    done();
  });
}
