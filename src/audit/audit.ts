import { execute } from '../database/sql.js';
import { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';

/** An action of staff, of a command, of retention or of `npm start`. */
export type AuditAction =
  | 'license.issue'
  | 'license.set'
  | 'license.rekey'
  | 'license.send_key'
  | 'license.send_keys'
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
  | 'passkey.rename'
  | 'passkey.remove'
  | 'release_request.decide'
  | 'crash_group.set'
  | 'keys.accept_secret'
  | 'events.resend'
  | 'events.stop';

/** Who acts, and why. */
export interface AuditContext {
  /**
   * The e-mail address of a staff member; for a command the name given with `--as`, or "cli"; for retention "retention"; for the
   * sample data of development "npm start".
   */
  readonly actor: string;
  readonly reason: string | null;
}

interface AuditEvent {
  readonly action: AuditAction;
  readonly at: Date;
  readonly license_id?: string;
  /** What changed: ids, counts and new values, and in `before` the values that they replaced; no personal data. */
  readonly change?: Readonly<Record<string, unknown>>;
}

/** Inserts an audit event in the transaction of the action (docs/contract.md#staff). */
export async function recordAudit(
  manager: EntityManager,
  audit: AuditContext,
  event: AuditEvent,
): Promise<void> {
  await execute(
    manager,
    'insert into audit_event (id, actor, action, license_id, reason, change, at) values ($1, $2, $3, $4, $5, $6, $7)',
    [
      uuidv7(),
      audit.actor,
      event.action,
      event.license_id ?? null,
      audit.reason,
      event.change ?? {},
      event.at,
    ],
  );
}
