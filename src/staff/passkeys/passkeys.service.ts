import { Injectable } from '@nestjs/common';
import type { RegistrationResponseJSON, WebAuthnCredential } from '@simplewebauthn/server';
import { DataSource, EntityManager } from 'typeorm';
import { v7 as uuidv7, validate as isUuid } from 'uuid';
import { recordAudit } from '../../audit/audit.js';
import { Clock, rfc3339 } from '../../core/clock.js';
import { problem } from '../../http/problems/problem.js';
import { enqueueMail } from '../../mail/mail.service.js';
import { RelyingParty } from './relying-party.js';
import type { SignedIn } from '../staff-identity.js';

/** A passkey as its owner sees it. */
export interface PasskeyView {
  readonly id: string;
  readonly created_at: string;
  readonly transports: string[];
}

/** What a browser may say of how it reaches an authenticator (WebAuthn); the rest is dropped. */
const TRANSPORTS = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'];

/** The passkeys of a person of the staff, in that person's own hands. */
@Injectable()
export class PasskeysService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly relyingParty: RelyingParty,
    private readonly clock: Clock,
  ) {}

  async list(staffId: string): Promise<PasskeyView[]> {
    const sql =
      'select id, created_at, transports from passkey where staff_id = $1 order by created_at desc, id desc';
    const rows = (await this.dataSource.query(sql, [staffId])) as (PasskeyView & { created_at: Date })[];
    return rows.map((row) => ({ ...row, created_at: rfc3339(row.created_at) }));
  }

  async credentialIds(staffId: string): Promise<Buffer[]> {
    const sql = 'select credential_id from passkey where staff_id = $1';
    const rows = (await this.dataSource.query(sql, [staffId])) as { credential_id: Buffer }[];
    return rows.map(({ credential_id }) => credential_id);
  }

  /** Enrols a passkey, and tells its owner so by mail. @throws Problem `passkey_invalid`, `sign_in_required` */
  async enrol(staff: SignedIn, response: RegistrationResponseJSON, challenge: Buffer): Promise<PasskeyView> {
    const credential = await this.relyingParty.enrolled(response, challenge);
    if (!credential) throw problem('passkey_invalid');
    return this.dataSource.transaction(async (manager) => {
      await lockSignedIn(manager, staff);
      const id = uuidv7();
      const at = this.clock.now();
      const transports = transportsOf(credential);
      const [added] = (await manager.query(
        `insert into passkey (id, staff_id, credential_id, public_key, sign_count, transports, created_at)
         values ($1, $2, $3, $4, $5, $6, $7) on conflict (credential_id) do nothing returning id`,
        [id, staff.id, ...keyOf(credential), transports, at],
      )) as unknown[];
      if (!added) throw problem('passkey_invalid');
      // For good, also where the passkey is removed again: what lies in a mailbox opens nothing any more.
      await manager.query('delete from staff_link where staff_id = $1 and mailed', [staff.id]);
      const change = { staff_id: staff.id, passkey_id: id };
      await recordAudit(manager, { actor: staff.email, reason: null }, { action: 'passkey.add', change, at });
      // To this address, whatever becomes of the passkey until it is sent.
      await enqueueMail(manager, 'passkey_added', id, at, { to: staff.email });
      return { id, created_at: rfc3339(at), transports };
    });
  }

  /** Removes one of one's own, and ends every other session of that person. @throws Problem `not_found`, `sign_in_required` */
  async remove(staff: SignedIn, id: string): Promise<void> {
    if (!isUuid(id)) throw problem('not_found');
    await this.dataSource.transaction(async (manager) => {
      await lockSignedIn(manager, staff);
      const [gone] = (await manager.query(
        'with gone as (delete from passkey where id = $1 and staff_id = $2 returning id) select id from gone',
        [id, staff.id],
      )) as unknown[];
      if (!gone) throw problem('not_found');
      // Whoever came in by it would stay, and make another.
      await manager.query('delete from session where staff_id = $1 and id <> $2', [
        staff.id,
        staff.session_id,
      ]);
      const change = { staff_id: staff.id, passkey_id: id };
      const act = { actor: staff.email, reason: null };
      await recordAudit(manager, act, { action: 'passkey.remove', change, at: this.clock.now() });
    });
  }
}

/**
 * Locks a person's row and session to the end of the transaction. The guard let the request in before: another removal may
 * have ended its session since, and a session that has ended must not add or remove a passkey.
 * @throws Problem `sign_in_required`
 */
async function lockSignedIn(manager: EntityManager, { id, session_id }: SignedIn): Promise<void> {
  // The person first, as each change of passkeys, links and people does.
  await manager.query('select 1 from staff where id = $1 for no key update', [id]);
  // A statement of its own, so that it sees what the lock waited for.
  const sql = 'select 1 from session where id = $1 for key share';
  const held = (await manager.query(sql, [session_id])) as unknown[];
  if (held.length === 0) throw problem('sign_in_required', {}, { 'www-authenticate': 'Bearer' });
}

/** The library hands on whatever the browser sent, a list or not. */
function transportsOf({ transports }: { readonly transports?: unknown }): string[] {
  return Array.isArray(transports) ? TRANSPORTS.filter((each) => transports.includes(each)) : [];
}

function keyOf({ id, publicKey, counter }: WebAuthnCredential): [Buffer, Buffer, number] {
  return [Buffer.from(id, 'base64url'), Buffer.from(publicKey), counter];
}
