import { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';

/** What the vendor's people may do to what they keep. */
export type AuditAction =
  | 'license.issue'
  | 'license.set'
  | 'license.rekey'
  | 'activation.release'
  | 'manifest.publish'
  | 'staff.add'
  | 'staff.token'
  | 'staff.revoke_token';

/** Who did it: a staff member's e-mail address, or `cli`. */
export interface Act {
  readonly actor: string;
  readonly reason: string | null;
}

/** Appends an entry in the caller's transaction: what was done and the trace of it are one (contract, section 4). */
export async function recordAudit(
  manager: EntityManager,
  { actor, reason }: Act,
  action: AuditAction,
  licenseId: string | null,
  at: Date,
): Promise<void> {
  await manager.query(
    'insert into audit_event (id, actor, action, license_id, reason, at) values ($1, $2, $3, $4, $5, $6)',
    [uuidv7(), actor, action, licenseId, reason, at],
  );
}
