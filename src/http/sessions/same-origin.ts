import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { Config } from '../../core/config.js';
import { problem } from '../problems/problem.js';

/** Marks a route that requires no session, such as a sign-in. */
export const AllowedWithoutSession = Reflector.createDecorator<object>();

/**
 * Refuses a request that changes something, if it may come from a page of another site (docs/contract.md#portal). The `origin`
 * decides; browsers that do not send it send `sec-fetch-site`. A request with neither header is not from a browser: it is
 * accepted only without a cookie, as scripts with an access token send it.
 * @throws Problem `cross_origin`
 */
export function demandSameOrigin({ method, headers }: FastifyRequest, config: Config): void {
  if (method === 'GET' || method === 'HEAD') return;
  const { origin, cookie } = headers;
  const site = headers['sec-fetch-site'];
  const isSameOrigin = origin
    ? origin === new URL(config.publicUrl).origin
    : site
      ? site === 'same-origin'
      : cookie === undefined;
  if (!isSameOrigin) throw problem('cross_origin');
}
