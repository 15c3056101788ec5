import { DataSource } from 'typeorm';
import { rfc3339 } from '../core/clock.js';
import { queryRows } from '../database/sql.js';

/** An entry of the audit trail in responses to staff. */
export interface AuditEvent {
  readonly id: string;
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly license_id: string | null;
  /** The last two symbols of the license key; null if the entry has no license, or the license was deleted. */
  readonly key_hint: string | null;
  /** The address of the staff member whom the action changed; null if there is none, or if this person was removed. */
  readonly staff_email: string | null;
  readonly reason: string | null;
  readonly change: Readonly<Record<string, unknown>>;
}

const AUDIT_PAGE_SIZE = 500;

/** Reads the newest AUDIT_PAGE_SIZE entries, newest first: of one license, or of the whole audit trail. */
export async function readAuditTrail(dataSource: DataSource, licenseId?: string): Promise<AuditEvent[]> {
  const where = licenseId === undefined ? '' : 'where license_id = $1';
  const rows = await queryRows<Omit<AuditEvent, 'at'> & { at: Date }>(
    dataSource,
    `select e.id, e.at, e.actor, e.action, e.license_id, e.reason, e.change,
            (select key_hint from license where id = e.license_id) as key_hint,
            (select email from staff where id::text = e.change ->> 'staff_id') as staff_email
     from audit_event e ${where} order by e.at desc, e.id desc limit ${AUDIT_PAGE_SIZE}`,
    licenseId === undefined ? [] : [licenseId],
  );
  return rows.map(({ at, ...row }) => ({ ...row, at: rfc3339(at) }));
}
