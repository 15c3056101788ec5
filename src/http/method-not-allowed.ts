import type { FastifyInstance } from 'fastify';
import findMyWay, { type HTTPMethod } from 'find-my-way';
import { problem, type Problem } from './problem.js';

/**
 * Tells a wrong method from a wrong address: mirrors the routes as they are added.
 * @returns what to throw where no route was found: 405 with `allow`, or 404
 */
export function nothingHere(fastify: FastifyInstance): (url: string) => Problem {
  const router = findMyWay();
  const methods = new Set<HTTPMethod>();
  fastify.addHook('onRoute', ({ url, method }) => {
    for (const name of [method].flat()) {
      methods.add(name as HTTPMethod);
      if (!router.hasRoute(name as HTTPMethod, url)) router.on(name as HTTPMethod, url, () => undefined);
    }
  });
  return (url) => {
    const allowed = [...methods].filter((method) => router.find(method, url));
    return allowed.length > 0
      ? problem('method_not_allowed', {}, { allow: allowed.join(', ') })
      : problem('not_found');
  };
}
