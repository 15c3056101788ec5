import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import { v4 as uuidv4 } from 'uuid';
import { recordAudit, type AuditContext } from '../../audit/audit.js';
import { Clock } from '../../core/clock.js';
import { Config } from '../../core/config.js';
import { problem } from '../../http/problems/problem.js';
import { tokenHash } from '../../http/sessions/token-hash.js';

export const LINK_MINUTES = 30;

/** A link to be printed. */
export interface PrintedLink {
  readonly link: string;
  readonly expires_at: Date;
}

/** Links that sign a person of the staff in once: before there is a passkey, or after it was lost (contract, section 4). */
@Injectable()
export class StaffLinks {
  constructor(
    private readonly dataSource: DataSource,
    private readonly config: Config,
    private readonly clock: Clock,
  ) {}

  /** Makes a link to be printed where it was asked for; the secret in it is kept nowhere. Throws `not_found`. */
  async print(email: string, act: AuditContext): Promise<PrintedLink> {
    const secret = randomBytes(32).toString('base64url');
    return this.dataSource.transaction(async (manager) => {
      const sql = 'select id from staff where email = $1 for key share';
      const [staff] = (await manager.query(sql, [email])) as { id: string }[];
      if (!staff) throw problem('not_found');
      const expires_at = await this.keep(manager, { id: uuidv4(), staff_id: staff.id, secret }, act);
      return { link: this.address(secret), expires_at };
    });
  }

  /** Writes a link down, by a hash of its secret, and who made it. @param link with a nonce if mailed @returns when it ends */
  async keep(
    manager: EntityManager,
    { id, staff_id, secret, nonce }: { id: string; staff_id: string; secret: string; nonce?: Buffer },
    act: AuditContext,
  ): Promise<Date> {
    const mailed = nonce !== undefined;
    const at = this.clock.now();
    const expires_at = new Date(at.getTime() + LINK_MINUTES * 60_000);
    await manager.query(
      `insert into staff_link (id, staff_id, token_hash, mailed, nonce, created_at, expires_at)
       values ($1, $2, $3, $4, $5, $6, $7)`,
      [id, staff_id, tokenHash(secret), mailed, nonce ?? null, at, expires_at],
    );
    await recordAudit(manager, act, { action: 'staff.link', change: { staff_id, mailed }, at });
    return expires_at;
  }

  /**
   * Spends a link: of two who come with it, one finds it. In the caller's transaction, which begins the session.
   * @returns whom it signs in
   * @throws Problem `link_invalid`
   */
  async spend(manager: EntityManager, secret: string): Promise<string> {
    const token_hash = tokenHash(secret);
    // The person first, as whoever removes one or enrols a passkey does.
    const [found] = (await manager.query(
      `select s.id from staff_link l join staff s on s.id = l.staff_id
       where l.token_hash = $1 and l.expires_at > $2 for no key update of s`,
      [token_hash, this.clock.now()],
    )) as { id: string }[];
    if (!found) throw problem('link_invalid');
    const [link] = (await manager.query(
      `with spent as (delete from staff_link where token_hash = $1 returning mailed) select mailed from spent`,
      [token_hash],
    )) as { mailed: boolean }[];
    if (!link || (link.mailed && (await hasPasskey(manager, found.id)))) throw problem('link_invalid');
    return found.id;
  }

  /** Where the page takes it; what stands behind the # is sent to no server. */
  address(secret: string): string {
    return `${this.config.publicUrl}/support/#link=${secret}`;
  }
}

/** To be asked behind `lockStaff`, which whoever enrols a passkey takes too. */
export async function hasPasskey(manager: EntityManager, staffId: string): Promise<boolean> {
  const rows = (await manager.query('select 1 from passkey where staff_id = $1 limit 1', [
    staffId,
  ])) as unknown[];
  return rows.length > 0;
}

/** Locks a person's row to the end of the transaction. @throws Problem `not_found` */
export async function lockStaff(
  manager: EntityManager,
  staffId: string,
): Promise<{ readonly email: string }> {
  const sql = 'select email from staff where id = $1 for no key update';
  const [staff] = (await manager.query(sql, [staffId])) as { email: string }[];
  if (!staff) throw problem('not_found');
  return staff;
}
