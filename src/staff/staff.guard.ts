import { CanActivate, createParamDecorator, ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { Config } from '../core/config.js';
import { problem } from '../http/problems/problem.js';
import { BeforeSignIn, demandSameOrigin } from '../http/sessions/same-origin.js';
import { StaffIdentity, type SignedIn } from './staff-identity.js';

type SignedInRequest = FastifyRequest & { staff?: SignedIn };

/** On a route that the role `support` may not use. */
export const AdminOnly = Reflector.createDecorator<object>();

/** On a controller that a browser's session alone may use: what a script holds must never make itself a passkey. */
export const SessionOnly = Reflector.createDecorator<object>();

/** Lets staff in, by session or token. One guard on each staff controller, no route without. */
@Injectable()
export class StaffGuard implements CanActivate {
  constructor(
    private readonly identity: StaffIdentity,
    private readonly config: Config,
    private readonly reflector: Reflector,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<SignedInRequest>();
    // Before anything is looked up: what another site sends is not even told whether someone is signed in here.
    demandSameOrigin(request, this.config);
    const route = context.getHandler();
    if (this.reflector.get(BeforeSignIn, route)) return true;
    const sessionOnly = this.reflector.get(SessionOnly, context.getClass());
    const staff =
      (await this.identity.bySession(request)) ?? (!sessionOnly && (await this.identity.byToken(request)));
    if (!staff) throw problem('sign_in_required', {}, { 'www-authenticate': 'Bearer' });
    if (this.reflector.get(AdminOnly, route) && staff.role !== 'admin') throw problem('forbidden');
    request.staff = staff;
    return true;
  }
}

/** The staff member whom the guard let in. */
export const SignedInStaff = createParamDecorator(
  (_data: unknown, context: ExecutionContext) => context.switchToHttp().getRequest<SignedInRequest>().staff,
);
