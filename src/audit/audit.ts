import { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';

/** An action of staff or of a command. */
export type AuditAction =
  | 'license.issue'
  | 'license.set'
  | 'license.rekey'
  | 'license.send_key'
  | 'license.import'
  | 'purchase.record'
  | 'erasure.request'
  | 'erasure.run'
  | 'activation.release'
  | 'manifest.publish'
  | 'manifest.withdraw'
  | 'staff.add'
  | 'staff.token'
  | 'staff.revoke_token'
  | 'staff.remove'
  | 'staff.role'
  | 'staff.link'
  | 'passkey.add'
  | 'passkey.remove'
  | 'release_request.decide';

/** The actor (the e-mail address of a staff member, or `cli`) and the reason of an action. */
export interface AuditContext {
  readonly actor: string;
  readonly reason: string | null;
}

interface AuditEntry {
  readonly action: AuditAction;
  readonly at: Date;
  readonly license_id?: string;
  /** The changed ids and the new values, without personal data. */
  readonly change?: Readonly<Record<string, unknown>>;
}

/** Inserts an audit entry in the transaction of the action (docs/contract.md#staff). */
export async function recordAudit(
  manager: EntityManager,
  audit: AuditContext,
  entry: AuditEntry,
): Promise<void> {
  await manager.query(
    'insert into audit_event (id, actor, action, license_id, reason, change, at) values ($1, $2, $3, $4, $5, $6, $7)',
    [
      uuidv7(),
      audit.actor,
      entry.action,
      entry.license_id ?? null,
      audit.reason,
      entry.change ?? {},
      entry.at,
    ],
  );
}
