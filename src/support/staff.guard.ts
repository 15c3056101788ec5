import { CanActivate, createParamDecorator, ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { problem } from '../http/problem.js';
import type { Staff } from './staff.entity.js';
import { StaffService } from './staff.service.js';

/** What is known of a staff member who signed in. */
export type SignedIn = Pick<Staff, 'email' | 'role'>;

type SignedInRequest = FastifyRequest & { staff?: SignedIn };

/** On a route that the role `support` may not use. */
export const AdminOnly = Reflector.createDecorator<void, true>({ transform: () => true });

/** Lets staff in by `authorization: Bearer <staff token>`. One guard on each staff controller, no route without. */
@Injectable()
export class StaffGuard implements CanActivate {
  constructor(
    private readonly staff: StaffService,
    private readonly reflector: Reflector,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<SignedInRequest>();
    const [, token] = /^Bearer +([\w-]{1,200})$/i.exec(request.headers.authorization ?? '') ?? [];
    const staff = token ? await this.staff.byToken(token) : null;
    if (!staff) throw problem('sign_in_required', {}, { 'www-authenticate': 'Bearer' });
    if (this.reflector.get(AdminOnly, context.getHandler()) && staff.role !== 'admin')
      throw problem('forbidden');
    request.staff = staff;
    return true;
  }
}

/** The staff member whom the guard let in. */
export const SignedInStaff = createParamDecorator(
  (_data: unknown, context: ExecutionContext) => context.switchToHttp().getRequest<SignedInRequest>().staff,
);
