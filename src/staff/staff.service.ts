import { Injectable } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import { v7 as uuidv7, validate as isUuid } from 'uuid';
import { recordAudit, type AuditContext } from '../audit/audit.js';
import { Clock, rfc3339 } from '../core/clock.js';
import { invalidMembers, problem } from '../http/problems/problem.js';
import type { Role, Staff } from './staff.entity.js';

/** A person of the staff as admins see them. */
export interface StaffView {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly created_at: string;
  /** How many passkeys he or she signs in with. */
  readonly passkeys: number;
}

const STAFF = `
  select id, email, role, created_at, (select count(*)::int from passkey where staff_id = s.id) as passkeys
  from staff s`;

/** People of the vendor (contract, section 4). */
@Injectable()
export class StaffService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  async list(): Promise<StaffView[]> {
    const rows = (await this.dataSource.query(`${STAFF} order by email`)) as (Staff & { passkeys: number })[];
    return rows.map((row) => ({ ...row, created_at: rfc3339(row.created_at) }));
  }

  /** Throws `not_found`. */
  async view(id: string): Promise<StaffView> {
    const rows = (await this.dataSource.query(`${STAFF} where id = $1`, [id])) as (Staff & {
      passkeys: number;
    })[];
    const [row] = rows;
    if (!row) throw problem('not_found');
    return { ...row, created_at: rfc3339(row.created_at) };
  }

  /** Throws `not_found`. */
  async idOf(email: string): Promise<string> {
    const sql = 'select id from staff where email = $1';
    const [row] = (await this.dataSource.query(sql, [email])) as { id: string }[];
    if (!row) throw problem('not_found');
    return row.id;
  }

  /** Adds a person. @param email as `canonicalEmail` gives it @throws Problem `invalid_request` where he or she is staff already */
  async add(email: string, role: Role, act: AuditContext): Promise<{ staff_id: string }> {
    return this.dataSource.transaction(async (manager) => {
      const staff_id = await this.insert(manager, email, role, act);
      // A change of role has its own call, which asks why.
      if (!staff_id) throw invalidMembers({ email: 'is staff already' });
      return { staff_id };
    });
  }

  /** Adds a person, or gives the one who is there this role. Throws `last_admin`. */
  async ensure(email: string, role: Role, act: AuditContext): Promise<{ staff_id: string }> {
    return this.dataSource.transaction(async (manager) => {
      const added = await this.insert(manager, email, role, act);
      if (added) return { staff_id: added };
      const sql = 'select id from staff where email = $1';
      const [row] = (await manager.query(sql, [email])) as { id: string }[];
      if (!row) throw problem('not_found');
      await this.changeRole(manager, row.id, role, act);
      return { staff_id: row.id };
    });
  }

  /** Gives a person another role, from the next request on. Throws `not_found`, `last_admin`. */
  async setRole(id: string, role: Role, act: AuditContext): Promise<void> {
    if (!isUuid(id)) throw problem('not_found');
    await this.dataSource.transaction((manager) => this.changeRole(manager, id, role, act));
  }

  /** Removes a person, with all that signs him or her in; the audit trail stays. Throws `not_found`, `last_admin`. */
  async remove(id: string, act: AuditContext): Promise<void> {
    if (!isUuid(id)) throw problem('not_found');
    await this.dataSource.transaction(async (manager) => {
      await keepAnAdmin(manager, id);
      const sql = 'with gone as (delete from staff where id = $1 returning id) select id from gone';
      const [gone] = (await manager.query(sql, [id])) as { id: string }[];
      if (!gone) throw problem('not_found');
      const change = { staff_id: id };
      await recordAudit(manager, act, { action: 'staff.remove', change, at: this.clock.now() });
    });
  }

  /** @returns the id; undefined where this address is staff already */
  private async insert(
    manager: EntityManager,
    email: string,
    role: Role,
    act: AuditContext,
  ): Promise<string | undefined> {
    const at = this.clock.now();
    const [row] = (await manager.query(
      `insert into staff (id, email, role, created_at) values ($1, $2, $3, $4)
       on conflict (email) do nothing returning id`,
      [uuidv7(), email, role, at],
    )) as { id: string }[];
    if (row) await recordAudit(manager, act, { action: 'staff.add', change: { staff_id: row.id, role }, at });
    return row?.id;
  }

  private async changeRole(manager: EntityManager, id: string, role: Role, act: AuditContext): Promise<void> {
    if (role !== 'admin') await keepAnAdmin(manager, id);
    const [was] = (await manager.query('select role from staff where id = $1 for update', [id])) as {
      role: Role;
    }[];
    if (!was) throw problem('not_found');
    if (was.role === role) return;
    await manager.query('update staff set role = $2 where id = $1', [id, role]);
    const change = { staff_id: id, role };
    await recordAudit(manager, act, { action: 'staff.role', change, at: this.clock.now() });
  }
}

/**
 * Nobody could let anyone in any more. The admins' rows are locked in one order: of two who remove each other, one waits
 * and finds itself alone. @throws Problem `last_admin`
 */
async function keepAnAdmin(manager: EntityManager, id: string): Promise<void> {
  const sql = "select id from staff where role = 'admin' order by id for update";
  const admins = (await manager.query(sql)) as { id: string }[];
  if (admins.length === 1 && admins[0]!.id === id) throw problem('last_admin');
}
