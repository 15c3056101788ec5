import { CanActivate, createParamDecorator, ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { Config } from '../core/config.js';
import { readCookie } from '../http/sessions/cookies.js';
import { problem } from '../http/problems/problem.js';
import { SessionIgnored, requireSameOrigin, SessionOptional } from '../http/sessions/same-origin.js';
import { Sessions } from '../http/sessions/sessions.js';
import { Languages } from '../languages/languages.service.js';
import type { Holder } from './holder.js';

type HolderRequest = FastifyRequest & { holder?: Holder; language?: string | undefined };

/** Marks a route that requires a sign-in with a mailed code. A license key is not sufficient, because an office may share it. */
export const RequiresMailedCode = Reflector.createDecorator<object>();

/** Authenticates holders by their session. Each controller under `/portal/api` uses this guard. */
@Injectable()
export class HolderGuard implements CanActivate {
  constructor(
    private readonly sessions: Sessions,
    private readonly config: Config,
    private readonly reflector: Reflector,
    private readonly languages: Languages,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<HolderRequest>();
    const route = context.getHandler();
    // The origin is checked first, so that the page of another site cannot find out whether a holder is signed in.
    requireSameOrigin(request, this.config);
    request.language = this.languages.bestFor(request.headers['accept-language']);
    if (this.reflector.get(SessionIgnored, route)) return true;
    const session = await this.sessions.find(readCookie(request, this.config, 'holder'));
    if (!session || session.staff_id !== null) {
      if (this.reflector.get(SessionOptional, route)) return true;
      throw problem('sign_in_required');
    }
    // A session that a license key began has a license_id and no email.
    if (this.reflector.get(RequiresMailedCode, route) && session.email === null)
      throw problem('mailbox_proof_needed');
    const { id: session_id, license_id, email } = session;
    request.holder = { session_id, license_id, email };
    return true;
  }
}

/** Parameter decorator: the holder that `HolderGuard` authenticated; undefined without a session if it is optional. */
export const CurrentHolder = createParamDecorator(
  (_data: unknown, context: ExecutionContext) => context.switchToHttp().getRequest<HolderRequest>().holder,
);

/**
 * Parameter decorator: the language tag of the page that sent the request. The pages send it as `accept-language`.
 * Mails about the request are in this language.
 */
export const PageLanguage = createParamDecorator(
  (_data: unknown, context: ExecutionContext) => context.switchToHttp().getRequest<HolderRequest>().language,
);
