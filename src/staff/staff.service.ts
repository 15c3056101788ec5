import { Injectable } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import { v7 as uuidv7, validate as isUuid } from 'uuid';
import { recordAudit, type AuditContext } from '../audit/audit.js';
import { Clock, timesAsText, type RowOf } from '../core/clock.js';
import { execute, queryRow, queryRows, type SqlConnection } from '../database/sql.js';
import { invalidMembers, problem } from '../http/problems/problem.js';
import type { StaffMember } from '../http/responses/api-types.js';
import { lockAdmins, refuseLastAdmin } from './identity/admins.js';
import type { Role } from './identity/role.js';

type StaffRow = RowOf<StaffMember, 'created_at'>;

const SELECT_STAFF = `
  select id, email, role, created_at, (select count(*)::int from passkey where staff_id = s.id) as passkeys
  from staff s`;

/**
 * Staff accounts of the vendor (docs/contract.md#staff). For a change through the support API, `actingAdminId` is the admin who
 * makes it; the change is `forbidden` if this admin was removed or got another role meanwhile. A command passes none.
 */
@Injectable()
export class StaffService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  /** Lists the staff members in the order of their e-mail addresses. */
  async list(): Promise<StaffMember[]> {
    const rows = await queryRows<StaffRow>(this.dataSource, `${SELECT_STAFF} order by email`);
    return rows.map(timesAsText);
  }

  /** Reads one staff member. @throws Problem `not_found` */
  async getView(id: string): Promise<StaffMember> {
    const row = await queryRow<StaffRow>(this.dataSource, `${SELECT_STAFF} where id = $1`, [id]);
    if (!row) throw problem('not_found');
    return timesAsText(row);
  }

  /** Finds the id of the staff member with an address. @throws Problem `not_found` */
  async findId(email: string, database: SqlConnection = this.dataSource): Promise<string> {
    const sql = 'select id from staff where email = $1';
    const row = await queryRow<{ id: string }>(database, sql, [email]);
    if (!row) throw problem('not_found');
    return row.id;
  }

  /**
   * Adds a staff member.
   * @param email in the form of `canonicalEmail`
   * @throws Problem `forbidden`, `invalid_request` if the address belongs to a staff member already
   */
  async add(
    email: string,
    role: Role,
    audit: AuditContext,
    actingAdminId?: string,
  ): Promise<{ staff_id: string }> {
    return this.dataSource.transaction(async (manager) => {
      await lockAdmins(manager, actingAdminId);
      const staff_id = await this.insert(manager, email, role, audit);
      // An existing role is not changed here: the support API asks for a reason to change one (`setRole`).
      if (!staff_id) throw invalidMembers({ email: 'is staff already' });
      return { staff_id };
    });
  }

  /** Adds a staff member, or sets the role of the existing one. @throws Problem `last_admin` */
  async ensure(email: string, role: Role, audit: AuditContext): Promise<{ staff_id: string }> {
    return this.dataSource.transaction(async (manager) => {
      const added = await this.insert(manager, email, role, audit);
      if (added) return { staff_id: added };
      const staff_id = await this.findId(email, manager);
      await this.changeRole(manager, staff_id, role, audit);
      return { staff_id };
    });
  }

  /**
   * Changes the role of a staff member; it applies to their next request.
   * @throws Problem `not_found`, `forbidden`, `last_admin`
   */
  async setRole(id: string, role: Role, audit: AuditContext, actingAdminId?: string): Promise<void> {
    if (!isUuid(id)) throw problem('not_found');
    await this.dataSource.transaction((manager) => this.changeRole(manager, id, role, audit, actingAdminId));
  }

  /**
   * Removes a staff member with all sessions, passkeys, links and tokens. The audit trail is kept.
   * @throws Problem `not_found`, `forbidden`, `last_admin`
   */
  async remove(id: string, audit: AuditContext, actingAdminId?: string): Promise<void> {
    if (!isUuid(id)) throw problem('not_found');
    await this.dataSource.transaction(async (manager) => {
      refuseLastAdmin(await lockAdmins(manager, actingAdminId), id);
      const sql = 'delete from staff where id = $1 returning role';
      const removed = await queryRow<{ role: Role }>(manager, sql, [id]);
      if (!removed) throw problem('not_found');
      const change = { staff_id: id, before: { role: removed.role } };
      await recordAudit(manager, audit, { action: 'staff.remove', change, at: this.clock.now() });
    });
  }

  /** @returns the id; undefined if a staff member has this address already */
  private async insert(
    manager: EntityManager,
    email: string,
    role: Role,
    audit: AuditContext,
  ): Promise<string | undefined> {
    const at = this.clock.now();
    const row = await queryRow<{ id: string }>(
      manager,
      `insert into staff (id, email, role, created_at) values ($1, $2, $3, $4)
       on conflict (email) do nothing returning id`,
      [uuidv7(), email, role, at],
    );
    if (row)
      await recordAudit(manager, audit, { action: 'staff.add', change: { staff_id: row.id, role }, at });
    return row?.id;
  }

  private async changeRole(
    manager: EntityManager,
    id: string,
    role: Role,
    audit: AuditContext,
    actingAdminId?: string,
  ): Promise<void> {
    const admins = await lockAdmins(manager, actingAdminId);
    if (role !== 'admin') refuseLastAdmin(admins, id);
    const sql = 'select role from staff where id = $1 for update';
    const staff = await queryRow<{ role: Role }>(manager, sql, [id]);
    if (!staff) throw problem('not_found');
    if (staff.role === role) return;
    await execute(manager, 'update staff set role = $2 where id = $1', [id, role]);
    const change = { staff_id: id, role, before: { role: staff.role } };
    await recordAudit(manager, audit, { action: 'staff.role', change, at: this.clock.now() });
  }
}
