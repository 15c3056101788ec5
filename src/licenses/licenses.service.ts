import { Injectable } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import { v7 as uuidv7, validate as isUuid } from 'uuid';
import { recordAudit, type AuditContext } from '../audit/audit.js';
import { Clock } from '../core/clock.js';
import { Config, type OnExpiry } from '../core/config.js';
import { isTimeCertain } from '../database/database-clock.js';
import { execute, queryOne, queryRow, queryRows } from '../database/sql.js';
import { problem } from '../http/problems/problem.js';
import { LicenseKeys, type PurchaseIds } from '../keys/license-keys.js';
import { enqueueMail } from '../mail/mail.service.js';
import { setEventTime } from './event-time.js';
import {
  clearDataOfFormerHolder,
  deleteCodesOfFormerAddress,
  timeUnderCurrentHolder,
} from './former-holder.js';
import { License } from './license.entity.js';
import { licenseRevision, type ChangeableByStaff } from './license-revision.js';
import { mailableKey } from './mailable-key.js';
import { endChangedAt, endedAt, type PurchaseState, type StaffStatus } from './license.rules.js';

export interface NewLicense {
  /** In the form of `canonicalEmail`. */
  readonly email: string;
  readonly machines_allowed?: number;
  readonly expires_at?: Date | null;
  readonly on_expiry?: OnExpiry;
}

export interface LicenseChange extends Partial<NewLicense> {
  readonly staff_status?: StaffStatus;
}

/**
 * Changes licenses. Each change by staff and its audit event are one transaction. A license that is issued or linked for a
 * purchase gets no audit event here. The file is long, because all changes lock and record a license in the same way.
 */
@Injectable()
export class LicensesService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly keys: LicenseKeys,
    private readonly config: Config,
    private readonly clock: Clock,
  ) {}

  /** Issues a license. The returned key is not stored. */
  async issue(
    newLicense: NewLicense,
    audit: AuditContext,
  ): Promise<{ license_id: string; license_key: string }> {
    const { license_id, license_key } = await this.issueOnce(uuidv7(), newLicense, audit);
    return { license_id, license_key };
  }

  /**
   * Issues the license with this id, unless an earlier or a concurrent request did (docs/decisions/0059).
   * @returns the license and its key; `created` is false if the license existed
   * @throws Problem `idempotency_key_reused` if the existing license differs from the one that the request would issue, or has
   *   another key since, or if an imported license had this key until it was replaced; `unavailable` if the row that prevented the
   *   insertion is gone
   */
  async issueOnce(
    id: string,
    newLicense: NewLicense,
    audit: AuditContext,
  ): Promise<{ license_id: string; license_key: string; created: boolean }> {
    const { license_key, terms, row } = this.newRow(id, newLicense);
    return this.dataSource.transaction(async (manager) => {
      // Waits for a concurrent request with the same id.
      const insert = manager
        .createQueryBuilder()
        .insert()
        .into(License)
        .values(row)
        .orIgnore()
        .returning('id');
      const [inserted] = await queryRows(manager, ...insert.getQueryAndParameters());
      if (!inserted) return { license_id: await findEqual(manager, row), license_key, created: false };
      await refuseReplacedKey(manager, row.key_hash);
      const { created_at: at } = row;
      await recordAudit(manager, audit, { action: 'license.issue', license_id: id, change: terms, at });
      return { license_id: id, license_key, created: true };
    });
  }

  /**
   * Issues the license of a purchase in the transaction that records the purchase, and mails its key to the buyer.
   * @param email in the form of `canonicalEmail`
   * @param isRefunded whether the purchase is already refunded; the key is then not mailed
   */
  async issueForPurchase(
    manager: EntityManager,
    { license_id, purchase_id }: PurchaseIds,
    email: string,
    isRefunded: boolean,
  ): Promise<void> {
    const { row } = this.newRow(license_id, { email });
    await manager.insert(License, { ...row, purchase_id });
    if (!isRefunded) await enqueueMail(manager, 'license_key', license_id, row.created_at);
  }

  /**
   * Links an existing license to its purchase: an imported license whose key is the one that is derived for this purchase, or was
   * until staff replaced it, or a license whose purchase was already deleted. An earlier report may have linked it.
   * @returns the address of the license, which is null after an erasure or if a restore lost it; undefined if there is
   *   no such license
   */
  async linkToPurchase(
    manager: EntityManager,
    { license_id, purchase_id }: PurchaseIds,
  ): Promise<{ email: string | null } | undefined> {
    const { key_hash } = this.keys.derive(license_id, 1);
    return queryRow<{ email: string | null }>(
      manager,
      `update license set purchase_id = $1 where coalesce(purchase_id, $1) = $1 and id =
         (select id from license where id = $2 or key_hash = $3 or id = any(array(${licensesWithReplacedKey('$3')}))
          order by id = $2 desc limit 1)
       returning email`,
      [purchase_id, license_id, key_hash],
    );
  }

  /** Returns the row of a license that is not issued yet, its key, and the terms that the audit event names. */
  private newRow(id: string, newLicense: NewLicense) {
    const created_at = this.clock.now();
    const { license_key, ...key } = this.keys.derive(id, 1);
    const { email } = newLicense;
    const terms = {
      machines_allowed: newLicense.machines_allowed ?? this.config.defaultMachinesPerLicense,
      expires_at: newLicense.expires_at ?? null,
      on_expiry: newLicense.on_expiry ?? this.config.defaultOnExpiry,
    };
    const row = {
      id,
      ...key,
      key_generation: 1,
      email,
      staff_status: 'active' as const,
      ...terms,
      created_at,
      end_changed_at: created_at,
    };
    return { license_key, terms, row };
  }

  /**
   * Changes the given columns. Lowering `machines_allowed` ends no activation. A change of the e-mail address is mailed to the
   * old and the new address; it ends the sessions of the license and removes data of the former holder.
   * @param revisions the revisions (`licenseRevision`) on which the change may be based; undefined accepts every
   *   revision
   * @throws Problem `not_found`, `license_changed`, `license_erased`
   */
  async set(
    id: string,
    change: LicenseChange,
    audit: AuditContext,
    revisions?: readonly string[],
  ): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      const before = await lockLicense(manager, id);
      assertRevision(before, revisions);
      // An erased license cannot get a new address. A license whose address is unknown since a restore (the backup named an
      // erased former holder) is not erased, and can.
      if (before.email === null && !before.address_lost_at && change.email !== undefined)
        throw problem('license_erased');
      const at = this.clock.now();
      const recordedAt = timeUnderCurrentHolder(before, at);
      const ended_at = endedAt(
        { ...before, ...change, purchase_state: await readPurchaseState(manager, id) },
        at,
      );
      const end_changed_at = endChangedAt(before, { ...before, ...change, ended_at }, at);
      const hasNewEmail = change.email !== undefined && change.email !== before.email;
      const emailColumns = hasNewEmail && {
        email_since: await changeTime(manager, id, recordedAt),
        address_lost_at: null,
      };
      await setEventTime(manager, at);
      await manager.update(License, { id }, { ...change, ...emailColumns, ended_at, end_changed_at });
      // Audit events are kept after an erasure, so they do not contain the address.
      const { email: _, ...terms } = change;
      const names = Object.keys(terms) as (keyof typeof terms)[];
      const auditChange = {
        ...terms,
        ...(hasNewEmail && { email: 'changed' }),
        ...(names.length > 0 && { before: Object.fromEntries(names.map((name) => [name, before[name]])) }),
      };
      await recordAudit(manager, audit, {
        action: 'license.set',
        license_id: id,
        change: auditChange,
        at: recordedAt,
      });
      if (!hasNewEmail) return;
      // A sign-in with a code locks the code first too, and then the session that it replaces: the opposite order could deadlock.
      if (before.email !== null) await deleteCodesOfFormerAddress(manager, before.email);
      await endSessions(manager, id);
      await clearDataOfFormerHolder(manager, id);
      for (const to of [before.email, change.email!]) {
        if (to !== null) await enqueueMail(manager, 'email_changed', id, at, { to });
      }
    });
  }

  /**
   * Mails the key to the e-mail address of the license again.
   * @param audit undefined if the holder requests it @param language of the holder's page
   * @throws Problem `not_found`, `key_not_mailable`
   */
  async sendKey(id: string, audit?: AuditContext, language?: string): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      const license = await lockLicense(manager, id);
      const key = await mailableKey(manager, this.keys, id);
      if (typeof key === 'string') throw problem('key_not_mailable', { reason: key });
      const at = timeUnderCurrentHolder(license, this.clock.now());
      if (audit) await recordAudit(manager, audit, { action: 'license.send_key', license_id: id, at });
      await enqueueMail(manager, 'license_key_again', id, at, { language });
    });
  }

  /**
   * Replaces a leaked key and mails the new one. The old key activates no further machine; activations stay active, and the
   * sessions of the license end.
   * @param revisions as in `set`
   * @throws Problem `not_found`, `license_changed`, `key_not_mailable`
   */
  async rekey(
    id: string,
    audit: AuditContext,
    revisions?: readonly string[],
  ): Promise<{ license_key: string }> {
    return this.dataSource.transaction(async (manager) => {
      const license = await lockLicense(manager, id);
      assertRevision(license, revisions);
      const { key_generation, key_hash: replacedHash, key_hint: replacedHint } = license;
      const current = await mailableKey(manager, this.keys, id);
      // A key that cannot be derived, such as an imported one, is replaced by one that can.
      if (typeof current === 'string' && current !== 'not_made_here')
        throw problem('key_not_mailable', { reason: current });
      const { license_key, key_hash, key_hint } = this.keys.derive(id, key_generation + 1);
      const change = { key_hint, key_generation: key_generation + 1 };
      const at = timeUnderCurrentHolder(license, this.clock.now());
      await execute(
        manager,
        `insert into replaced_key (license_id, key_hash, replaced_at) values ($1, $2, $3)
         on conflict (license_id, key_hash) do update set replaced_at = excluded.replaced_at`,
        [id, replacedHash, await changeTime(manager, id, at)],
      );
      await manager.update(License, { id }, { key_hash, ...change });
      await endSessions(manager, id);
      const auditChange = { ...change, before: { key_hint: replacedHint, key_generation } };
      await recordAudit(manager, audit, { action: 'license.rekey', license_id: id, change: auditChange, at });
      await enqueueMail(manager, 'license_key_replaced', id, at);
      return { license_key };
    });
  }

  /** Derives the current key; null for each `NotMailableReason`, for example if the key was imported. */
  async currentKey(id: string): Promise<string | null> {
    const key = await mailableKey(this.dataSource.manager, this.keys, id);
    return typeof key === 'string' ? null : key.license_key;
  }

  /**
   * Called before a response says that a license or activation does not exist. A production database without licenses is
   * the wrong database (docs/contract.md#no-false-stop).
   * @throws Problem `unavailable`
   */
  async assertDatabaseHasLicenses(): Promise<void> {
    if (!this.config.isProduction) return;
    // The result is not cached, because an empty backup may have been restored since the last call.
    if (!(await this.dataSource.manager.exists(License))) throw problem('unavailable');
  }

  /**
   * Called before a response says that a license has expired, because a wrong clock would stop a valid license
   * (docs/contract.md#no-false-stop, docs/decisions/0015).
   * @param at the time for which the caller found that the license has expired: that of the request, not `expires_at`
   * @throws Problem `unavailable` if the clocks of service and database differ, or if the clock of the service jumped ahead
   */
  async assertTimeIsCertain(at: Date): Promise<void> {
    if (!(await isTimeCertain(this.clock, this.dataSource, at))) throw problem('unavailable');
  }
}

/**
 * Finds the license that prevented an insertion: one with the id, or one that was imported with the key.
 * @throws Problem `idempotency_key_reused` if it differs from the row that was not inserted, `unavailable` if it is gone
 */
async function findEqual(
  manager: EntityManager,
  row: ChangeableByStaff & Pick<License, 'id' | 'key_hash'>,
): Promise<string> {
  const { id, key_hash } = row;
  const existing = await manager.findOne(License, { where: [{ id }, { key_hash }] });
  // A concurrent replacement of the key has removed the row that prevented the insertion.
  if (!existing) throw problem('unavailable');
  if (licenseRevision(existing) !== licenseRevision(row) || !existing.key_hash.equals(key_hash))
    throw problem('idempotency_key_reused', { license_id: existing.id });
  return existing.id;
}

/**
 * SQL for the ids of the licenses that had a key until it was replaced.
 * @param keyHash the SQL placeholder of its hash, such as `$1`
 */
const licensesWithReplacedKey = (keyHash: string) =>
  `select license_id from replaced_key where key_hash = ${keyHash}`;

/**
 * Refuses to issue a key that an imported license had until it was replaced: the key may have leaked. Called after the insertion of
 * the new license, which waits for a concurrent replacement of this key.
 * @throws Problem `idempotency_key_reused`
 */
async function refuseReplacedKey(manager: EntityManager, keyHash: Buffer): Promise<void> {
  const sql = licensesWithReplacedKey('$1');
  const license = await queryRow<{ license_id: string }>(manager, sql, [keyHash]);
  if (license) throw problem('idempotency_key_reused', license);
}

/** Checks that a change is based on the present values of a license. Throws `license_changed`. */
function assertRevision(license: License, revisions: readonly string[] | undefined): void {
  if (revisions && !revisions.includes(licenseRevision(license))) throw problem('license_changed');
}

/** Ends the portal sessions of a license after its key or its e-mail address changed. */
async function endSessions(manager: EntityManager, id: string): Promise<void> {
  await execute(manager, 'delete from session where license_id = $1', [id]);
}

/**
 * Returns the time to store for a change of the address or the key under the lock of the license: `at`, or the time of the newest
 * event of the license if it is later, because the clocks of two instances differ. With `at`, that event would be shown to the next
 * holder, or a machine that activated before the change would not be recognized by its former key or address (`AttemptReads`).
 */
async function changeTime(manager: EntityManager, id: string, at: Date): Promise<Date> {
  const sql = `
    select greatest($2::timestamptz, max(a.activated_at), max(a.ended_at), max(r.asked_at),
      (select max(e.at) from audit_event e where e.license_id = $1),
      (select max(o.occurred_at) from outgoing_event o where o.license_id = $1)) as at
    from activation a left join release_request r on r.activation_id = a.id where a.license_id = $1`;
  const row = await queryOne<{ at: Date }>(manager, sql, [id, at]);
  return row.at;
}

async function readPurchaseState(manager: EntityManager, id: string): Promise<PurchaseState | null> {
  const sql = 'select p.state from license l join purchase p on p.id = l.purchase_id where l.id = $1';
  const purchase = await queryRow<{ state: PurchaseState }>(manager, sql, [id]);
  return purchase?.state ?? null;
}

/**
 * Locks a license until the end of the transaction. Changes of the license, new activations and releases wait for this
 * lock. Retention deletes ended activations without it.
 * @throws Problem `not_found`
 */
export async function lockLicense(manager: EntityManager, id: string): Promise<License> {
  const lock = { mode: 'pessimistic_write' } as const;
  const license = isUuid(id) && (await manager.findOne(License, { where: { id }, lock }));
  if (!license) throw problem('not_found');
  return license;
}
