import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Clock } from '../../core/clock.js';
import { poolOf } from '../../database/data-source.js';
import { isValidAt } from '../../database/lifetime.js';
import { execute, queryPrepared } from '../../database/sql.js';
import { tokenHash } from './token-hash.js';

const IDLE_TIMEOUT_MS = 30 * 60_000;
const MAX_DURATION_MS = 12 * 3_600_000;
/** The expiry of a session is written only if it moves by at least this time, so that most requests write nothing. */
const EXPIRY_UPDATE_INTERVAL_MS = 60_000;

/** The owner of a session: a license, an e-mail address, or a staff member. */
export type SessionOwner =
  { readonly license_id: string } | { readonly email: string } | { readonly staff_id: string };

/** A valid session; exactly one of the three owners is not null. */
export interface Session {
  readonly id: string;
  readonly license_id: string | null;
  readonly email: string | null;
  readonly staff_id: string | null;
}

/** A row of `FIND_SESSION`. */
type SessionRow = Session & { readonly created_at: Date; readonly expires_at: Date };

const FIND_SESSION = `
  select id, license_id, email, staff_id, created_at, expires_at from session
  where token_hash = $1 and ${isValidAt('$2')}`;

/** Sessions of the pages. The database stores only the hash of the cookie's value (docs/contract.md#portal). */
@Injectable()
export class Sessions {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  /**
   * Begins a session in the caller's transaction.
   * @param replaced the value of the browser's earlier cookie, whose session ends @returns the value of the new cookie
   */
  async begin(manager: EntityManager, owner: SessionOwner, replaced?: string): Promise<string> {
    const token = randomBytes(32).toString('base64url');
    const now = this.clock.now();
    const { license_id = null, email = null, staff_id = null } = owner as Partial<Session>;
    await execute(
      manager,
      `insert into session (id, token_hash, license_id, email, staff_id, created_at, expires_at)
       values ($1, $2, $3, $4, $5, $6, $7)`,
      [
        uuidv7(),
        tokenHash(token),
        license_id,
        email,
        staff_id,
        now,
        new Date(now.getTime() + IDLE_TIMEOUT_MS),
      ],
    );
    if (replaced) await execute(manager, 'delete from session where token_hash = $1', [tokenHash(replaced)]);
    return token;
  }

  /** Finds the session of a cookie and extends it. @param token the value of the cookie @returns null if no session is valid */
  async find(token: string | undefined): Promise<Session | null> {
    if (!token) return null;
    const now = this.clock.now();
    const values = [tokenHash(token), now];
    const pool = poolOf(this.dataSource);
    const [row] = await queryPrepared<SessionRow>(pool, { name: 'find session', text: FIND_SESSION, values });
    if (!row) return null;
    const { created_at, expires_at, ...session } = row;
    const newExpiry = Math.min(now.getTime() + IDLE_TIMEOUT_MS, created_at.getTime() + MAX_DURATION_MS);
    if (newExpiry - expires_at.getTime() >= EXPIRY_UPDATE_INTERVAL_MS) {
      const sql = 'update session set expires_at = greatest(expires_at, $2) where id = $1';
      await execute(this.dataSource, sql, [session.id, new Date(newExpiry)]);
    }
    return session;
  }

  async end(id: string): Promise<void> {
    await execute(this.dataSource, 'delete from session where id = $1', [id]);
  }
}
