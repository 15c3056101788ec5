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
  readonly reason: string | null;
  readonly change: Readonly<Record<string, unknown>>;
}

const AUDIT_PAGE_SIZE = 500;

/** Reads the newest entries of one license or of all, newest first. */
export async function readAuditTrail(dataSource: DataSource, licenseId?: string): Promise<AuditEvent[]> {
  const where = licenseId === undefined ? '' : 'where license_id = $1';
  const rows = await queryRows<Omit<AuditEvent, 'at'> & { at: Date }>(
    dataSource,
    `select id, at, actor, action, license_id, reason, change from audit_event ${where}
     order by at desc, id desc limit ${AUDIT_PAGE_SIZE}`,
    licenseId === undefined ? [] : [licenseId],
  );
  return rows.map(({ at, ...row }) => ({ ...row, at: rfc3339(at) }));
}
