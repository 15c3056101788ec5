import { Injectable } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import { v7 as uuidv7, validate as isUuid } from 'uuid';
import { recordAudit, type Act } from '../audit/audit.js';
import { Clock } from '../clock.js';
import { Config, type OnExpiry } from '../config.js';
import { problem } from '../http/problem.js';
import { LicenseKeys } from '../keys/license-keys.js';
import { License } from './license.entity.js';
import type { StaffStatus } from './license.rules.js';

export interface NewLicense {
  /** As `canonicalEmail` gives it. */
  readonly email: string;
  readonly machines_allowed?: number;
  readonly expires_at?: Date | null;
  readonly on_expiry?: OnExpiry;
}

export interface LicenseChange {
  readonly machines_allowed?: number;
  readonly expires_at?: Date | null;
  readonly on_expiry?: OnExpiry;
  readonly staff_status?: StaffStatus;
}

/** What staff do to a license. Each write and its audit entry are one transaction. */
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
    const id = uuidv7();
    const created_at = this.clock.now();
    const { license_key, key_hash, key_hint } = this.keys.derive(id, 1);
    const terms = {
      machines_allowed: wanted.machines_allowed ?? this.config.defaultMachinesPerLicense,
      expires_at: wanted.expires_at ?? null,
      on_expiry: wanted.on_expiry ?? this.config.defaultOnExpiry,
    };
    await this.dataSource.transaction(async (manager) => {
      await manager.insert(License, { id, key_hash, key_hint, email: wanted.email, ...terms, created_at });
      await recordAudit(manager, act, {
        action: 'license.issue',
        license_id: id,
        change: terms,
        at: created_at,
      });
    });
    return { license_id: id, license_key };
  }

  /** Changes what is given. Lowering `machines_allowed` keeps the bindings there are. Throws `not_found`. */
  async set(id: string, change: LicenseChange, act: Act): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      await lockLicense(manager, id);
      await manager.update(License, { id }, change);
      await recordAudit(manager, act, {
        action: 'license.set',
        license_id: id,
        change: { ...change },
        at: this.clock.now(),
      });
    });
  }

  /** Replaces a leaked key: the old one stops activating, the bindings go on. Throws `not_found`. */
  async rekey(id: string, act: Act): Promise<{ license_key: string }> {
    return this.dataSource.transaction(async (manager) => {
      const { key_generation } = await lockLicense(manager, id);
      const { license_key, key_hash, key_hint } = this.keys.derive(id, key_generation + 1);
      const change = { key_hint, key_generation: key_generation + 1 };
      await manager.update(License, { id }, { key_hash, ...change });
      await recordAudit(manager, act, {
        action: 'license.rekey',
        license_id: id,
        change,
        at: this.clock.now(),
      });
      return { license_key };
    });
  }

  /**
   * The key in force, derived anew and held against its hash; null where this deployment's secret does not make it
   * (an imported key, a changed secret), or no such license exists.
   */
  async currentKey(id: string): Promise<string | null> {
    const license = await this.dataSource.manager.findOneBy(License, { id });
    if (!license) return null;
    const { license_key, key_hash } = this.keys.derive(id, license.key_generation);
    return key_hash.equals(license.key_hash) ? license_key : null;
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
}

/** Locks a license row to the end of the transaction: whoever changes it or its bindings waits here. Throws `not_found`. */
export async function lockLicense(manager: EntityManager, id: string): Promise<License> {
  const lock = { mode: 'pessimistic_write' } as const;
  const license = isUuid(id) && (await manager.findOne(License, { where: { id }, lock }));
  if (!license) throw problem('not_found');
  return license;
}
