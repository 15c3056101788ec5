import { randomBytes, randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import { recordAudit, type AuditContext } from '../../audit/audit.js';
import { Clock } from '../../core/clock.js';
import { Config } from '../../core/config.js';
import { isValidAt } from '../../database/lifetime.js';
import { execute, queryRow } from '../../database/sql.js';
import { problem } from '../../http/problems/problem.js';
import { tokenHash } from '../../http/sessions/token-hash.js';

export const LINK_LIFETIME_MINUTES = 30;

/** A new sign-in link: its URL, and when it expires. */
interface StaffLink {
  readonly link: string;
  readonly expires_at: Date;
}

/**
 * One-time links with which staff sign in without a passkey. A printed link also works for a person who has registered a passkey,
 * for example because the passkey is lost. A mailed link does not (docs/contract.md#staff).
 */
@Injectable()
export class StaffLinks {
  constructor(
    private readonly dataSource: DataSource,
    private readonly config: Config,
    private readonly clock: Clock,
  ) {}

  /** Creates a link that is printed, not mailed. Only a hash of its secret is stored. @throws Problem `not_found` */
  async create(email: string, audit: AuditContext): Promise<StaffLink> {
    const secret = randomBytes(32).toString('base64url');
    return this.dataSource.transaction(async (manager) => {
      const sql = 'select id from staff where email = $1 for key share';
      const staff = await queryRow<{ id: string }>(manager, sql, [email]);
      if (!staff) throw problem('not_found');
      const expires_at = await this.store(manager, { id: randomUUID(), staff_id: staff.id, secret }, audit);
      return { link: this.createUrl(secret), expires_at };
    });
  }

  /**
   * Stores a link with a hash of its secret, and an audit event. The secret of a mailed link is derived from its nonce.
   * @returns when the link expires
   */
  async store(
    manager: EntityManager,
    { id, staff_id, secret, nonce }: { id: string; staff_id: string; secret: string; nonce?: Buffer },
    audit: AuditContext,
  ): Promise<Date> {
    const mailed = nonce !== undefined;
    const at = this.clock.now();
    const expires_at = new Date(at.getTime() + LINK_LIFETIME_MINUTES * 60_000);
    await execute(
      manager,
      `insert into staff_link (id, staff_id, token_hash, mailed, nonce, created_at, expires_at)
       values ($1, $2, $3, $4, $5, $6, $7)`,
      [id, staff_id, tokenHash(secret), mailed, nonce ?? null, at, expires_at],
    );
    await recordAudit(manager, audit, { action: 'staff.link', change: { staff_id, mailed }, at });
    return expires_at;
  }

  /**
   * Deletes a link in the caller's transaction, which also creates the session. Of two concurrent requests with one link, one
   * succeeds.
   * @returns the id of the staff member
   * @throws Problem `link_invalid`
   */
  async consume(manager: EntityManager, secret: string): Promise<string> {
    const token_hash = tokenHash(secret);
    // The staff row is locked first, as in each removal of a person and each registration of a passkey.
    const staff = await queryRow<{ id: string }>(
      manager,
      `select id from staff where id = (select staff_id from staff_link where token_hash = $1 and ${isValidAt('$2')})
       for no key update`,
      [token_hash, this.clock.now()],
    );
    if (!staff) throw problem('link_invalid');
    const link = await queryRow<{ mailed: boolean }>(
      manager,
      'delete from staff_link where token_hash = $1 returning mailed',
      [token_hash],
    );
    if (!link || (link.mailed && (await hasPasskey(manager, staff.id)))) throw problem('link_invalid');
    return staff.id;
  }

  /** Returns the URL of a link. Browsers do not send the fragment after `#` to the server. */
  createUrl(secret: string): string {
    return `${this.config.publicUrl}/support/#link=${secret}`;
  }
}

/** Returns whether a staff member has a passkey. In a transaction, call `lockStaff` first: registrations take that lock. */
export async function hasPasskey(manager: EntityManager, staffId: string): Promise<boolean> {
  const sql = 'select 1 from passkey where staff_id = $1 limit 1';
  return (await queryRow(manager, sql, [staffId])) !== undefined;
}

/** Locks the row of a staff member until the end of the transaction. @throws Problem `not_found` */
export async function lockStaff(
  manager: EntityManager,
  staffId: string,
): Promise<{ readonly email: string }> {
  const sql = 'select email from staff where id = $1 for no key update';
  const staff = await queryRow<{ email: string }>(manager, sql, [staffId]);
  if (!staff) throw problem('not_found');
  return staff;
}
