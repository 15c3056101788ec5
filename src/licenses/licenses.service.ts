import { Injectable } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import { v7 as uuidv7, validate as isUuid } from 'uuid';
import { recordAudit, type Act } from '../audit/audit.js';
import { Clock } from '../core/clock.js';
import { Config, type OnExpiry } from '../core/config.js';
import { clocksAgree } from '../database/database-clock.js';
import { problem } from '../http/problems/problem.js';
import { LicenseKeys } from '../keys/license-keys.js';
import type { SoldIds } from '../keys/sold-ids.js';
import { enqueueMail } from '../mail/mail.service.js';
import { clearFormerHolder } from './former-holder.js';
import { License } from './license.entity.js';
import { mailableKey } from './mailable-key.js';
import { endChangedAt, endedAt, type PurchaseState, type StaffStatus } from './license.rules.js';

export interface NewLicense {
  /** As `canonicalEmail` gives it. */
  readonly email: string;
  readonly machines_allowed?: number;
  readonly expires_at?: Date | null;
  readonly on_expiry?: OnExpiry;
}

export interface LicenseChange {
  /** As `canonicalEmail` gives it. */
  readonly email?: string;
  readonly machines_allowed?: number;
  readonly expires_at?: Date | null;
  readonly on_expiry?: OnExpiry;
  readonly staff_status?: StaffStatus;
}

/** What staff do to a license: each write and its audit entry are one transaction. A sale leaves no entry. */
@Injectable()
export class LicensesService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly keys: LicenseKeys,
    private readonly config: Config,
    private readonly clock: Clock,
  ) {}

  /** Issues a license. The key is returned here and nowhere stored. */
  async issue(wanted: NewLicense, act: Act): Promise<{ license_id: string; license_key: string }> {
    return this.dataSource.transaction(async (manager) => {
      const { id, license_key, created_at, terms } = await this.insert(manager, wanted);
      await recordAudit(manager, act, {
        action: 'license.issue',
        license_id: id,
        change: terms,
        at: created_at,
      });
      return { license_id: id, license_key };
    });
  }

  /**
   * Issues the one license of a purchase, in the transaction that records it, and mails its key to the buyer.
   * @param email as `canonicalEmail` gives it @param refunded then no key is ever mailed
   */
  async issueSold(manager: EntityManager, ids: SoldIds, email: string, refunded: boolean): Promise<void> {
    const { id, created_at } = await this.insert(manager, { email }, ids);
    if (!refunded) await enqueueMail(manager, 'license_key', id, created_at);
  }

  /**
   * Makes the license of a purchase that is there already its own again: imported with the key that its holder has, or
   * older than what is kept of purchases. @returns undefined where there is none
   */
  async adoptSold(
    manager: EntityManager,
    { license_id, purchase_id }: SoldIds,
  ): Promise<{ email: string | null } | undefined> {
    const { key_hash } = this.keys.derive(license_id, 1);
    const [adopted] = (await manager.query(
      `update license set purchase_id = $1 where purchase_id is null and id =
         (select id from license where id = $2 or key_hash = $3 order by id = $2 desc limit 1)
       returning email`,
      [purchase_id, license_id, key_hash],
    )) as [{ email: string | null }[], number];
    return adopted[0];
  }

  private async insert(manager: EntityManager, wanted: NewLicense, sold?: SoldIds) {
    const { license_id: id, purchase_id } = sold ?? { license_id: uuidv7(), purchase_id: null };
    const created_at = this.clock.now();
    const { license_key, key_hash, key_hint } = this.keys.derive(id, 1);
    const { email } = wanted;
    const terms = {
      machines_allowed: wanted.machines_allowed ?? this.config.defaultMachinesPerLicense,
      expires_at: wanted.expires_at ?? null,
      on_expiry: wanted.on_expiry ?? this.config.defaultOnExpiry,
    };
    await manager.insert(License, {
      id,
      key_hash,
      key_hint,
      email,
      ...terms,
      purchase_id,
      created_at,
      end_changed_at: created_at,
    });
    return { id, license_key, created_at, terms };
  }

  /**
   * Changes what is given. Lowering `machines_allowed` keeps the bindings there are; a change of e-mail is told to both
   * addresses. Throws `not_found`.
   */
  async set(id: string, change: LicenseChange, act: Act): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      const before = await lockLicense(manager, id);
      // Its holder was erased, and stays so. One whose address a restore lost has a holder, and gets it back.
      if (before.email === null && !before.address_lost_at && change.email !== undefined)
        throw problem('license_erased');
      const at = this.clock.now();
      const ended_at = endedAt(
        { ...before, ...change, purchase_state: await purchaseState(manager, id) },
        at,
      );
      const end_changed_at = endChangedAt(before, { ...before, ...change, ended_at }, at);
      const isPassedOn = change.email !== undefined && change.email !== before.email;
      const since = isPassedOn && {
        email_since: await afterActivations(manager, id, at),
        address_lost_at: null,
      };
      await manager.update(License, { id }, { ...change, ...since, ended_at, end_changed_at });
      // The trail outlives an erasure: it says that the address changed, and not to which.
      const { email: _, ...terms } = change;
      const told = isPassedOn ? { ...terms, email: 'changed' } : terms;
      await recordAudit(manager, act, { action: 'license.set', license_id: id, change: { ...told }, at });
      if (!isPassedOn) return;
      await endSessions(manager, id);
      await clearFormerHolder(manager, id);
      for (const to of [before.email, change.email!]) {
        if (to !== null) await enqueueMail(manager, 'email_changed', id, at, { to });
      }
    });
  }

  /**
   * Mails the key to the license's e-mail address once more. @param act who of staff does it; none means the holder
   * @throws Problem `not_found`, `key_not_mailable`
   */
  async sendKey(id: string, act?: Act): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      await lockLicense(manager, id);
      const key = await mailableKey(manager, this.keys, id);
      if (typeof key === 'string') throw problem('key_not_mailable', { reason: key });
      const at = this.clock.now();
      if (act) await recordAudit(manager, act, { action: 'license.send_key', license_id: id, at });
      await enqueueMail(manager, 'license_key_again', id, at);
    });
  }

  /**
   * Replaces a leaked key, and mails the new one: the old one activates no further machine, the bindings go on.
   * @throws Problem `not_found`, `key_not_mailable`
   */
  async rekey(id: string, act: Act): Promise<{ license_key: string }> {
    return this.dataSource.transaction(async (manager) => {
      const { key_generation, key_hash: replaced } = await lockLicense(manager, id);
      const before = await mailableKey(manager, this.keys, id);
      if (before === 'refunded' || before === 'erased') throw problem('key_not_mailable', { reason: before });
      const { license_key, key_hash, key_hint } = this.keys.derive(id, key_generation + 1);
      const change = { key_hint, key_generation: key_generation + 1 };
      const at = this.clock.now();
      await manager.query(
        `insert into replaced_key (license_id, key_hash, replaced_at) values ($1, $2, $3)
         on conflict (license_id, key_hash) do update set replaced_at = excluded.replaced_at`,
        [id, replaced, await afterActivations(manager, id, at)],
      );
      await manager.update(License, { id }, { key_hash, ...change });
      await endSessions(manager, id);
      await recordAudit(manager, act, { action: 'license.rekey', license_id: id, change, at });
      await enqueueMail(manager, 'license_key_replaced', id, at);
      return { license_key };
    });
  }

  /** The key in force; null where it cannot be told, as `mailableKey` says. */
  async currentKey(id: string): Promise<string | null> {
    const key = await mailableKey(this.dataSource.manager, this.keys, id);
    return typeof key === 'string' ? null : key.license_key;
  }

  /**
   * Before anyone is told that a license or binding does not exist: a production database without a single license is
   * the wrong one, and says nothing about anybody's (contract, No false `stop`). Throws `unavailable`.
   */
  async refuseWrongDatabase(): Promise<void> {
    if (!this.config.production) return;
    // Asked anew each time: an empty backup may have been restored a minute ago.
    if (!(await this.dataSource.manager.exists(License))) throw problem('unavailable');
  }

  /**
   * Before anyone is told that a license has expired: a clock that is wrong would stop what is paid for (contract, No
   * false `stop`; decision 0015). Throws `unavailable` where the database's clock says otherwise than ours, or ours has
   * jumped ahead.
   */
  async refuseWrongTime(): Promise<void> {
    if (!(await clocksAgree(this.clock, this.dataSource))) throw problem('unavailable');
  }
}

/** Whoever signed in by the key, or as whom the license belonged to, does so again. */
async function endSessions(manager: EntityManager, id: string): Promise<void> {
  await manager.query('delete from session where license_id = $1', [id]);
}

/**
 * The moment of a change behind the lock of the license, never before an activation that is there already: it came first,
 * even where the clocks of two machines say otherwise.
 */
async function afterActivations(manager: EntityManager, id: string, at: Date): Promise<Date> {
  const sql =
    'select greatest($2::timestamptz, max(activated_at)) as at from activation where license_id = $1';
  const [moment] = (await manager.query(sql, [id, at])) as { at: Date }[];
  return moment!.at;
}

async function purchaseState(manager: EntityManager, id: string): Promise<PurchaseState | null> {
  const sql = 'select p.state from license l join purchase p on p.id = l.purchase_id where l.id = $1';
  const [purchase] = (await manager.query(sql, [id])) as { state: PurchaseState }[];
  return purchase?.state ?? null;
}

/** Locks a license row to the end of the transaction: whoever changes it or its bindings waits here. Throws `not_found`. */
export async function lockLicense(manager: EntityManager, id: string): Promise<License> {
  const lock = { mode: 'pessimistic_write' } as const;
  const license = isUuid(id) && (await manager.findOne(License, { where: { id }, lock }));
  if (!license) throw problem('not_found');
  return license;
}
