import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { DataSource } from 'typeorm';
import { Clock } from '../../core/clock.js';
import { Config } from '../../core/config.js';
import { isValidAt } from '../../database/lifetime.js';
import { queryRow } from '../../database/sql.js';
import { readCookie } from '../../http/sessions/cookies.js';
import { Sessions } from '../../http/sessions/sessions.js';
import { tokenHash } from '../../http/sessions/token-hash.js';
import type { Role } from './role.js';

/** An authenticated staff member; `session_id` is null for a request with a staff token. */
export interface AuthenticatedStaff {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly session_id: string | null;
}

/** Finds the staff member who makes a request. The role is read each time, so that a change applies to the next request. */
@Injectable()
export class StaffIdentity {
  constructor(
    private readonly dataSource: DataSource,
    private readonly sessions: Sessions,
    private readonly config: Config,
    private readonly clock: Clock,
  ) {}

  /** Finds the staff member by the session cookie; null without a valid session of staff. */
  async findBySession(request: FastifyRequest): Promise<AuthenticatedStaff | null> {
    const session = await this.sessions.find(readCookie(request, this.config, 'staff'));
    // The session of a holder, sent in the cookie of staff, is not valid here.
    if (!session?.staff_id) return null;
    return this.findStaff('select id, email, role, $2::uuid as session_id from staff where id = $1', [
      session.staff_id,
      session.id,
    ]);
  }

  /** Finds the staff member by `authorization: Bearer <staff token>`; null if the token is unknown or expired. */
  async findByToken({ headers }: FastifyRequest): Promise<AuthenticatedStaff | null> {
    const [, token] = /^Bearer +([\w-]{1,200})$/i.exec(headers.authorization ?? '') ?? [];
    if (!token) return null;
    return this.findStaff(
      `select id, email, role, null as session_id from staff
       where id = (select staff_id from staff_token where token_hash = $1 and ${isValidAt('$2')})`,
      [tokenHash(token), this.clock.now()],
    );
  }

  private async findStaff(sql: string, values: unknown[]): Promise<AuthenticatedStaff | null> {
    const row = await queryRow<AuthenticatedStaff>(this.dataSource, sql, values);
    return row ?? null;
  }
}
