import { CanActivate, createParamDecorator, ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { Config } from '../../core/config.js';
import { problem } from '../../http/problems/problem.js';
import { SessionIgnored, requireSameOrigin, SessionOptional } from '../../http/sessions/same-origin.js';
import { StaffIdentity, type AuthenticatedStaff } from './staff-identity.js';

type RequestOfStaff = FastifyRequest & { staff?: AuthenticatedStaff };

/** Marks a route that only admins may use. */
export const AdminOnly = Reflector.createDecorator<object>();

/**
 * Marks a controller or a route that accepts no staff token, so that a stolen token cannot register a passkey or give another
 * person access, which would last after the token is revoked.
 */
export const SessionOnly = Reflector.createDecorator<object>();

/**
 * Marks a route whose requests may name, in the header `staff-id`, the staff member who confirmed the action.
 * `StaffGuard` refuses a request that names another person than the one who is signed in (`another_person`). This can
 * happen because all tabs of a browser share one session, and the support page sends a release some seconds after its
 * confirmation.
 */
export const ChecksStaffIdHeader = Reflector.createDecorator<object>();

/** Authenticates staff by session or staff token. Each staff controller uses this guard. */
@Injectable()
export class StaffGuard implements CanActivate {
  constructor(
    private readonly identity: StaffIdentity,
    private readonly config: Config,
    private readonly reflector: Reflector,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<RequestOfStaff>();
    // The origin is checked first, so that the page of another site cannot find out whether a staff member is signed in.
    requireSameOrigin(request, this.config);
    const route = context.getHandler();
    if (this.reflector.get(SessionIgnored, route)) return true;
    const isSessionOnly = this.reflector.getAllAndOverride(SessionOnly, [route, context.getClass()]);
    const staff =
      (await this.identity.findBySession(request)) ??
      (!isSessionOnly && (await this.identity.findByToken(request)));
    if (!staff) {
      if (this.reflector.get(SessionOptional, route)) return true;
      throw problem('sign_in_required', {}, { 'www-authenticate': 'Bearer' });
    }
    if (this.reflector.get(AdminOnly, route) && staff.role !== 'admin') throw problem('forbidden');
    const confirmedBy = this.reflector.get(ChecksStaffIdHeader, route) && request.headers['staff-id'];
    if (confirmedBy !== undefined && confirmedBy !== staff.id) throw problem('another_person');
    request.staff = staff;
    return true;
  }
}

/** Parameter decorator: the staff member that `StaffGuard` authenticated; undefined without a session if it is optional. */
export const CurrentStaff = createParamDecorator(
  (_data: unknown, context: ExecutionContext) => context.switchToHttp().getRequest<RequestOfStaff>().staff,
);
