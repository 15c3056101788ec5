import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { Config } from '../../core/config.js';
import { problem } from '../problems/problem.js';

/** Marks a route for which `HolderGuard` or `StaffGuard` reads no session, such as a sign-in. */
export const SessionIgnored = Reflector.createDecorator<object>();

/**
 * Marks a route that reads the session if there is one. Its handler gets undefined without a valid session. The browser logs each
 * 401 as an error, so the first request of a page, which may come without a session, must not be answered with 401
 * (docs/decisions/0011).
 */
export const SessionOptional = Reflector.createDecorator<object>();

/**
 * Refuses a request that changes something if it may come from a page of another site (docs/contract.md#portal). The header
 * `origin` decides, otherwise the header `sec-fetch-site`. Browsers send at least one of the two, so a request without both is
 * accepted only without a cookie: a script with a staff token sends such requests.
 * @throws Problem `cross_origin`
 */
export function requireSameOrigin({ method, headers }: FastifyRequest, config: Config): void {
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
