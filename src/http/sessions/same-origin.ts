import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { Config } from '../../core/config.js';
import { problem } from '../problems/problem.js';

/** On a route that begins a session, and so cannot ask for one. Nest marks what it decorates with an empty object. */
export const BeforeSignIn = Reflector.createDecorator<object>();

/**
 * Refuses a write that another site's page makes in a signed-in browser (docs/contract.md#portal). The `origin` decides; a
 * browser that sends none says `sec-fetch-site`; what says neither is no browser, and has no business with a cookie.
 * @throws Problem `cross_origin`
 */
export function demandSameOrigin({ method, headers }: FastifyRequest, config: Config): void {
  if (method === 'GET' || method === 'HEAD') return;
  const { origin, cookie } = headers;
  const site = headers['sec-fetch-site'];
  const same = origin
    ? origin === new URL(config.publicUrl).origin
    : site
      ? site === 'same-origin'
      : cookie === undefined;
  if (!same) throw problem('cross_origin');
}
