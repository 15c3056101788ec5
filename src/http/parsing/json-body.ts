import type { FastifyInstance } from 'fastify';
import { problem } from '../problems/problem.js';

/** The configuration of a route whose body is signed: its guard reads the bytes, which `readJson` parses later. */
export const RAW_BODY = { rawBody: true, bodyLimit: 64 * 1024 };

/** What a route may set with `RouteConfig`. */
type RouteSettings = Partial<typeof RAW_BODY>;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Accepts JSON in valid UTF-8 as the only kind of body. By itself Fastify would also accept plain text, and would replace invalid
 * characters.
 */
export function parseJsonOnly(fastify: FastifyInstance): void {
  // `remove`: a member `__proto__`, and a member `constructor` with a `prototype`, is ignored, as each unknown member is.
  const parse = fastify.getDefaultJsonParser('remove', 'remove');
  fastify.addHook('onRoute', (route) => {
    const { bodyLimit } = (route.config ?? {}) as RouteSettings;
    if (bodyLimit !== undefined) route.bodyLimit = bodyLimit;
  });
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = request.headers;
    const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(type)?.[1] ?? 'utf-8';
    if (!/^utf-?8$/i.test(charset) || encoding.toLowerCase() !== 'identity')
      return done(problem('unsupported_media_type'), undefined);
    if ((request.routeOptions.config as RouteSettings).rawBody) return done(null, body);
    try {
      const text = utf8.decode(body as Buffer);
      // The parser calls back synchronously; its errors have the status 400.
      void parse(request, text, done);
    } catch {
      done(problem('malformed_request'), undefined);
    }
  });
}

/** Parses the bytes of a body. @throws Problem `malformed_request` */
export function readJson(body: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(body));
  } catch {
    throw problem('malformed_request');
  }
}
