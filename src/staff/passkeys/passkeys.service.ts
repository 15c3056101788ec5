import { Injectable } from '@nestjs/common';
import type { RegistrationResponseJSON, WebAuthnCredential } from '@simplewebauthn/server';
import { DataSource, EntityManager } from 'typeorm';
import { v7 as uuidv7, validate as isUuid } from 'uuid';
import { recordAudit } from '../../audit/audit.js';
import { Clock, timesAsText, type RowOf } from '../../core/clock.js';
import { execute, affectedRows, queryRow, queryRows } from '../../database/sql.js';
import { problem } from '../../http/problems/problem.js';
import type { Passkey } from '../../http/responses/api-types.js';
import { enqueueMail } from '../../mail/mail.service.js';
import { PasskeyChallenges, type PasskeyChallenge } from './passkey-challenges.js';
import { RelyingParty } from './relying-party.js';
import type { AuthenticatedStaff } from '../identity/staff-identity.js';

type PasskeyRow = RowOf<Passkey, 'created_at'>;

const PASSKEY_COLUMNS = 'id, created_at, transports, name, last_used_on::text as last_used_on';

/** The authenticator transports of WebAuthn; other values from a browser are not stored. */
const TRANSPORTS = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'];

/** Manages the passkeys of the signed-in staff member. */
@Injectable()
export class PasskeysService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly relyingParty: RelyingParty,
    private readonly challenges: PasskeyChallenges,
    private readonly clock: Clock,
  ) {}

  /** Lists the passkeys of a staff member, newest first. */
  async list(staffId: string): Promise<Passkey[]> {
    const sql = `select ${PASSKEY_COLUMNS} from passkey where staff_id = $1 order by created_at desc, id desc`;
    return (await queryRows<PasskeyRow>(this.dataSource, sql, [staffId])).map(timesAsText);
  }

  /** Reads the WebAuthn credential ids of the passkeys of a staff member. */
  async readCredentialIds(staffId: string): Promise<Buffer[]> {
    const sql = 'select credential_id from passkey where staff_id = $1';
    const rows = await queryRows<{ credential_id: Buffer }>(this.dataSource, sql, [staffId]);
    return rows.map(({ credential_id }) => credential_id);
  }

  /** Registers a passkey and informs its owner by mail. @throws Problem `passkey_invalid`, `sign_in_required` */
  async register(
    staff: AuthenticatedStaff,
    response: RegistrationResponseJSON,
    challenge: PasskeyChallenge,
  ): Promise<Passkey> {
    const credential = await this.relyingParty.verifyRegistration(response, challenge.bytes);
    if (!credential) throw problem('passkey_invalid');
    return this.dataSource.transaction(async (manager) => {
      await lockStaffAndSession(manager, staff);
      if (!(await this.challenges.use(manager, challenge))) throw problem('passkey_invalid');
      const id = uuidv7();
      const at = this.clock.now();
      const transports = parseTransports(credential);
      const added = await queryRow<unknown>(
        manager,
        `insert into passkey (id, staff_id, credential_id, public_key, sign_count, transports, created_at)
         values ($1, $2, $3, $4, $5, $6, $7) on conflict (credential_id) do nothing returning id`,
        [id, staff.id, ...toColumns(credential), transports, at],
      );
      if (!added) throw problem('passkey_invalid');
      // A mailed link does not work while the person has a passkey. It is deleted, because it remains in the mailbox and would work
      // again after the passkey is removed.
      await execute(manager, 'delete from staff_link where staff_id = $1 and mailed', [staff.id]);
      const change = { staff_id: staff.id, passkey_id: id };
      await recordAudit(manager, { actor: staff.email, reason: null }, { action: 'passkey.add', change, at });
      // The recipient is fixed now, so that the mail is sent even if the passkey is removed before.
      await enqueueMail(manager, 'passkey_added', id, at, { to: staff.email });
      return timesAsText({ id, created_at: at, transports, name: null, last_used_on: null });
    });
  }

  /** Names a passkey of `staff`; null removes its name. @throws Problem `not_found`, `sign_in_required` */
  async rename(staff: AuthenticatedStaff, id: string, name: string | null): Promise<Passkey> {
    if (!isUuid(id)) throw problem('not_found');
    return this.dataSource.transaction(async (manager) => {
      await lockStaffAndSession(manager, staff);
      const passkey = await queryRow<PasskeyRow>(
        manager,
        `update passkey set name = $3 where id = $1 and staff_id = $2 returning ${PASSKEY_COLUMNS}`,
        [id, staff.id, name],
      );
      if (!passkey) throw problem('not_found');
      // The name is personal data, which the audit trail would keep for longer than the passkey.
      const change = { staff_id: staff.id, passkey_id: id };
      const audit = { actor: staff.email, reason: null };
      await recordAudit(manager, audit, { action: 'passkey.rename', change, at: this.clock.now() });
      return timesAsText(passkey);
    });
  }

  /** Removes a passkey of `staff` and ends all their other sessions. @throws Problem `not_found`, `sign_in_required` */
  async remove(staff: AuthenticatedStaff, id: string): Promise<void> {
    if (!isUuid(id)) throw problem('not_found');
    await this.dataSource.transaction(async (manager) => {
      await lockStaffAndSession(manager, staff);
      const sql = 'delete from passkey where id = $1 and staff_id = $2';
      const removed = await affectedRows(manager, sql, [id, staff.id]);
      if (removed === 0) throw problem('not_found');
      // Other sessions end, because an attacker who signed in with this passkey could register another one in such a session.
      await execute(manager, 'delete from session where staff_id = $1 and id <> $2', [
        staff.id,
        staff.session_id,
      ]);
      const change = { staff_id: staff.id, passkey_id: id };
      const audit = { actor: staff.email, reason: null };
      await recordAudit(manager, audit, { action: 'passkey.remove', change, at: this.clock.now() });
    });
  }
}

/**
 * Locks the rows of a staff member and of the session until the end of the transaction. It checks the session again, because
 * a concurrent removal may have ended it after the guard's check.
 * @throws Problem `sign_in_required`
 */
async function lockStaffAndSession(
  manager: EntityManager,
  { id, session_id }: AuthenticatedStaff,
): Promise<void> {
  // The staff row is locked first, as in each change of passkeys, links and staff.
  await execute(manager, 'select 1 from staff where id = $1 for no key update', [id]);
  // This is a separate statement, so that it sees the changes of the transaction that the lock waited for.
  const sql = 'select 1 from session where id = $1 for key share';
  const session = await queryRow(manager, sql, [session_id]);
  if (!session) throw problem('sign_in_required', {}, { 'www-authenticate': 'Bearer' });
}

/** Keeps the known transports. The library does not validate the value, which may not be a list. */
function parseTransports({ transports }: { readonly transports?: unknown }): string[] {
  return Array.isArray(transports) ? TRANSPORTS.filter((transport) => transports.includes(transport)) : [];
}

function toColumns({ id, publicKey, counter }: WebAuthnCredential): [Buffer, Buffer, number] {
  return [Buffer.from(id, 'base64url'), Buffer.from(publicKey), counter];
}
