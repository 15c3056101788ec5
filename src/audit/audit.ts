import { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';

/** What the vendor's people may do to what they keep. */
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

/** Who did it, a staff member's e-mail address or `cli`, and why. */
export interface Act {
  readonly actor: string;
  readonly reason: string | null;
}

interface Deed {
  readonly action: AuditAction;
  readonly at: Date;
  readonly license_id?: string;
  /** The ids it was done to and the new values; nothing personal. */
  readonly change?: Readonly<Record<string, unknown>>;
}

/** Appends an entry in the caller's transaction: what was done and the trace of it are one (contract, section 4). */
export async function recordAudit(manager: EntityManager, act: Act, deed: Deed): Promise<void> {
  await manager.query(
    'insert into audit_event (id, actor, action, license_id, reason, change, at) values ($1, $2, $3, $4, $5, $6, $7)',
    [uuidv7(), act.actor, deed.action, deed.license_id ?? null, act.reason, deed.change ?? {}, deed.at],
  );
}
