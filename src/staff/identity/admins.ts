import { EntityManager } from 'typeorm';
import { queryIds } from '../../database/sql.js';
import { problem } from '../../http/problems/problem.js';

/**
 * Locks the rows of all admins, always in the same order. Additions by an admin, changes of roles, removals and mailed links call
 * this first, so that they are made one after the other.
 * @param actingAdminId the admin who makes the change; undefined for a command
 * @returns the ids of all admins
 * @throws Problem `forbidden` if the acting admin was removed or got another role after the check of `StaffGuard`
 */
export async function lockAdmins(manager: EntityManager, actingAdminId?: string): Promise<string[]> {
  const sql = "select id from staff where role = 'admin' order by id for update";
  const admins = await queryIds(manager, sql);
  if (actingAdminId !== undefined && !admins.includes(actingAdminId)) throw problem('forbidden');
  return admins;
}

/**
 * Refuses to remove the last admin or to change the role of the last admin, because the support API lets only admins manage
 * staff. @throws Problem `last_admin`
 */
export function refuseLastAdmin(admins: readonly string[], id: string): void {
  if (admins.length === 1 && admins[0] === id) throw problem('last_admin');
}
