import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { DataSource, EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Clock, CLOCK_TOLERANCE_MS } from '../../core/clock.js';
import { Config } from '../../core/config.js';
import { queryRow } from '../../database/sql.js';
import { setCookie, readCookie } from './cookies.js';
import { tokenHash } from './token-hash.js';

const IDLE_MS = 30 * 60_000;
const LONGEST_MS = 12 * 3_600_000;
/** A use this soon after the last one is not written down. */
const UNWRITTEN_MS = 60_000;

/** Whose a session is: of one license, of a mailbox, or of a person of the staff. */
export type SessionOwner =
  { readonly license_id: string } | { readonly email: string } | { readonly staff_id: string };

/** A session that holds; one of the three owners is not null. */
export interface Session {
  readonly id: string;
  readonly license_id: string | null;
  readonly email: string | null;
  readonly staff_id: string | null;
}

/** Sessions of the pages: 30 minutes idle, 12 hours at most; only a hash of the cookie is kept (docs/contract.md#portal). */
@Injectable()
export class Sessions {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
    private readonly config: Config,
  ) {}

  /** Begins a session in the caller's transaction. @returns what its cookie holds */
  async begin(manager: EntityManager, owner: SessionOwner): Promise<string> {
    const token = randomBytes(32).toString('base64url');
    const now = this.clock.now();
    const { license_id = null, email = null, staff_id = null } = owner as Partial<Session>;
    await manager.query(
      `insert into session (id, token_hash, license_id, email, staff_id, created_at, expires_at)
       values ($1, $2, $3, $4, $5, $6, $7)`,
      [uuidv7(), tokenHash(token), license_id, email, staff_id, now, new Date(now.getTime() + IDLE_MS)],
    );
    return token;
  }

  /** The session a cookie stands for, which lives on by being asked for; null where there is none, or it is over. */
  async find(token: string | undefined): Promise<Session | null> {
    if (!token) return null;
    const now = this.clock.now();
    const row = await queryRow<Session & { readonly created_at: Date; readonly expires_at: Date }>(
      this.dataSource,
      `select id, license_id, email, staff_id, created_at, expires_at from session
       where token_hash = $1 and expires_at > $2 and created_at <= $3`,
      // One that begins in the future was begun by a clock that was wrong, and would hold until then.
      [tokenHash(token), now, new Date(now.getTime() + CLOCK_TOLERANCE_MS)],
    );
    if (!row) return null;
    const { created_at, expires_at, ...session } = row;
    const wanted = Math.min(now.getTime() + IDLE_MS, created_at.getTime() + LONGEST_MS);
    if (wanted - expires_at.getTime() >= UNWRITTEN_MS) {
      const sql = 'update session set expires_at = greatest(expires_at, $2) where id = $1';
      await this.dataSource.query(sql, [session.id, new Date(wanted)]);
    }
    return session;
  }

  /** Gives a browser the session that has begun for it, and ends the one that it had. */
  async give(reply: FastifyReply, name: 'holder' | 'staff', token: string): Promise<void> {
    const before = readCookie(reply.request, this.config, name);
    if (before) await this.dataSource.query('delete from session where token_hash = $1', [tokenHash(before)]);
    setCookie(reply, this.config, name, token);
  }

  async end(id: string): Promise<void> {
    await this.dataSource.query('delete from session where id = $1', [id]);
  }
}
