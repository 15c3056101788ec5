import { CanActivate, ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Config } from '../config.js';
import { demandSameOrigin } from '../http/same-origin.js';

/** On the routes by which staff sign in: anyone may call them, from this service's own page. */
@Injectable()
export class SameOriginGuard implements CanActivate {
  constructor(private readonly config: Config) {}

  canActivate(context: ExecutionContext): boolean {
    demandSameOrigin(context.switchToHttp().getRequest<FastifyRequest>(), this.config);
    return true;
  }
}
