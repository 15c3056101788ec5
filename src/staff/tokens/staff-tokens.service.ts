import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { v7 as uuidv7, validate as isUuid } from 'uuid';
import { recordAudit, type AuditContext } from '../../audit/audit.js';
import { Clock, DAY_MS, timesAsText, type RowOf } from '../../core/clock.js';
import { execute, queryRow, queryRows } from '../../database/sql.js';
import { problem } from '../../http/problems/problem.js';
import type { StaffToken } from '../../http/responses/api-types.js';
import { tokenHash } from '../../http/sessions/token-hash.js';

const TOKEN_LIFETIME_DAYS = 90;
/** The beginning of each token, by which people and secret scanners recognize it. */
const TOKEN_PREFIX = 'mst_';

/** Staff tokens, for scripts (docs/contract.md#staff). */
@Injectable()
export class StaffTokensService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  /**
   * Creates a token that has the role of its owner and is valid for 90 days. Only its hash is stored.
   * @throws Problem `not_found`
   */
  async create(email: string, audit: AuditContext): Promise<{ id: string; token: string }> {
    const token = TOKEN_PREFIX + randomBytes(32).toString('base64url');
    const created_at = this.clock.now();
    const expires_at = new Date(created_at.getTime() + TOKEN_LIFETIME_DAYS * DAY_MS);
    const id = uuidv7();
    await this.dataSource.transaction(async (manager) => {
      // The lock makes a concurrent removal of the person wait, which then deletes the token too.
      const select = 'select id from staff where email = $1 for update';
      const owner = await queryRow<{ id: string }>(manager, select, [email]);
      if (!owner) throw problem('not_found');
      const sql =
        'insert into staff_token (id, staff_id, token_hash, created_at, expires_at) values ($1, $2, $3, $4, $5)';
      await execute(manager, sql, [id, owner.id, tokenHash(token), created_at, expires_at]);
      const change = { staff_id: owner.id, token_id: id };
      await recordAudit(manager, audit, { action: 'staff.token', change, at: created_at });
    });
    return { id, token };
  }

  /** Lists the unexpired tokens, oldest first. */
  async list(): Promise<StaffToken[]> {
    const rows = await queryRows<RowOf<StaffToken, 'created_at' | 'expires_at'>>(
      this.dataSource,
      `select t.id, s.email, s.role, t.created_at, t.expires_at
       from staff_token t join staff s on s.id = t.staff_id where t.expires_at > $1 order by t.created_at`,
      [this.clock.now()],
    );
    return rows.map(timesAsText);
  }

  /** Deletes a token. @throws Problem `not_found` */
  async revoke(id: string, audit: AuditContext): Promise<void> {
    if (!isUuid(id)) throw problem('not_found');
    await this.dataSource.transaction(async (manager) => {
      const sql = 'delete from staff_token where id = $1 returning staff_id';
      const revoked = await queryRow<{ staff_id: string }>(manager, sql, [id]);
      if (!revoked) throw problem('not_found');
      const change = { staff_id: revoked.staff_id, token_id: id };
      await recordAudit(manager, audit, { action: 'staff.revoke_token', change, at: this.clock.now() });
    });
  }
}
