import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { DataSource } from 'typeorm';
import { Clock } from '../core/clock.js';
import { Config } from '../core/config.js';
import { readCookie } from '../http/sessions/cookies.js';
import { Sessions } from '../http/sessions/sessions.js';
import { tokenHash } from '../http/sessions/token-hash.js';
import type { Staff } from './staff.entity.js';

/** What is known of a staff member who signed in; `session_id` is null where a token did. */
export type SignedIn = Pick<Staff, 'id' | 'email' | 'role'> & { readonly session_id: string | null };

/** Says who of the staff makes a request. The role is the one that its person has at this moment. */
@Injectable()
export class StaffIdentity {
  constructor(
    private readonly dataSource: DataSource,
    private readonly sessions: Sessions,
    private readonly config: Config,
    private readonly clock: Clock,
  ) {}

  /** By the cookie of a page; null where it is none of the staff's, or is over. */
  async bySession(request: FastifyRequest): Promise<SignedIn | null> {
    const session = await this.sessions.find(readCookie(request, this.config, 'staff'));
    // A holder's session, put under the name of this cookie, is nobody's here.
    if (!session?.staff_id) return null;
    return this.one('select id, email, role, $2::uuid as session_id from staff where id = $1', [
      session.staff_id,
      session.id,
    ]);
  }

  /** By `authorization: Bearer <staff token>`; null where it is unknown or over. */
  async byToken({ headers }: FastifyRequest): Promise<SignedIn | null> {
    const [, token] = /^Bearer +([\w-]{1,200})$/i.exec(headers.authorization ?? '') ?? [];
    if (!token) return null;
    return this.one(
      `select s.id, s.email, s.role, null as session_id from staff_token t join staff s on s.id = t.staff_id
       where t.token_hash = $1 and t.expires_at > $2`,
      [tokenHash(token), this.clock.now()],
    );
  }

  private async one(sql: string, values: unknown[]): Promise<SignedIn | null> {
    const [row] = (await this.dataSource.query(sql, values)) as SignedIn[];
    return row ?? null;
  }
}
