import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { Config } from '../../core/config.js';
import { problem } from '../problems/problem.js';

/** On a route that begins a session and therefore requires none. */
export const AllowedWithoutSession = Reflector.createDecorator<object>();

/**
 * Refuses a request of another site's page that changes something (docs/contract.md#portal). The `origin` decides; browsers
 * that do not send it send `sec-fetch-site`. A request with neither is not from a browser and is refused.
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
