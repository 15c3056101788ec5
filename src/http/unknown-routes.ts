import type { FastifyInstance } from 'fastify';
import findMyWay, { type HTTPMethod } from 'find-my-way';
import { problem } from './problems/problem.js';

/**
 * Refuses requests without a route before their body is read: 405 with the header `allow` if the URL has a route with another
 * method, otherwise 404. All routes are also added to a second router, in which the URL is looked up with each method.
 */
export function refuseUnknownRoutes(fastify: FastifyInstance): void {
  const router = findMyWay();
  const methods = new Set<HTTPMethod>();
  fastify.addHook('onRoute', ({ url, method }) => {
    for (const name of [method].flat()) {
      methods.add(name as HTTPMethod);
      if (!router.hasRoute(name as HTTPMethod, url)) router.on(name as HTTPMethod, url, () => undefined);
    }
  });
  fastify.addHook('onRequest', (request, _reply, done) => {
    if (!request.is404) return done();
    const allowed = [...methods].filter((method) => router.find(method, request.raw.url ?? '/'));
    const allow = allowed.join(', ');
    done(allow ? problem('method_not_allowed', {}, { allow }) : problem('not_found'));
  });
}
