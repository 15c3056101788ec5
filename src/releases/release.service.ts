import { Injectable } from '@nestjs/common';
import { DataSource, EntityManager, IsNull } from 'typeorm';
import { validate as isUuid } from 'uuid';
import { recordAudit, type Act } from '../audit/audit.js';
import { Clock } from '../core/clock.js';
import { Config } from '../core/config.js';
import { problem } from '../http/problems/problem.js';
import { announceRelease } from '../licenses/license-mails.js';
import { License } from '../licenses/license.entity.js';
import { endChangedAt } from '../licenses/license.rules.js';
import { lockLicense } from '../licenses/licenses.service.js';
import { Activation } from '../activation/activation.entity.js';
import { selfReleases } from './self-releases.js';

/** Ends a binding, so that its seat is free. One that has ended stays as it ended, so twice is the same answer. */
@Injectable()
export class ReleaseService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
    private readonly config: Config,
  ) {}

  /** Releases a binding for staff. Throws `not_found`. */
  async release(id: string, act: Act): Promise<Activation> {
    return this.behindLicense(id, (manager, binding) => this.releaseLocked(manager, binding, act));
  }

  /**
   * Releases a binding for its holder, who may do so SELF_RELEASES_PER_YEAR times within 365 days without support.
   * @param email whose license it must be @throws Problem `not_found`, `release_needs_support`
   */
  async releaseForHolder(id: string, email: string): Promise<Activation> {
    return this.behindLicense(id, async (manager, { license_id, ended_at }, license) => {
      if (license.email !== email) refuse();
      if (ended_at) return;
      const at = this.clock.now();
      // Behind the lock: of two that come at once, the second counts the first.
      const released = (await selfReleases(manager, [license_id], at)).get(license_id) ?? 0;
      if (released >= this.config.selfReleasesPerYear) throw problem('release_needs_support');
      await end(manager, id, at, true);
      // What support was asked for is done.
      const asked = 'delete from release_request where activation_id = $1 and decided_at is null';
      await manager.query(asked, [id]);
    });
  }

  private async behindLicense(
    id: string,
    work: (manager: EntityManager, binding: Activation, license: License) => Promise<void>,
  ): Promise<Activation> {
    if (!isUuid(id)) throw problem('not_found');
    return this.dataSource.transaction(async (manager) => {
      const { license_id } = (await manager.findOneBy(Activation, { id })) ?? refuse();
      // The same lock as a taker's: the freed seat is counted by whoever comes next.
      const license = await lockLicense(manager, license_id);
      await work(manager, await manager.findOneByOrFail(Activation, { id }), license);
      return manager.findOneByOrFail(Activation, { id });
    });
  }

  /** `release` in the caller's transaction, which holds the lock of the license (`lockLicense`). */
  async releaseLocked(
    manager: EntityManager,
    { id, license_id }: Pick<Activation, 'id' | 'license_id'>,
    act: Act,
  ): Promise<void> {
    const at = this.clock.now();
    if (!(await end(manager, id, at, false))) return;
    // What a holder asked for is done, whoever did it.
    const asked = `update release_request set decision = 'release', decided_at = $2
                   where activation_id = $1 and decided_at is null`;
    await manager.query(asked, [id, at]);
    const change = { activation_id: id };
    await recordAudit(manager, act, { action: 'activation.release', license_id, change, at });
  }
}

/** Ends a binding that is active, and tells its holder. @returns whether it was */
async function end(
  manager: EntityManager,
  id: string,
  ended_at: Date,
  released_by_holder: boolean,
): Promise<boolean> {
  const { affected } = await manager.update(
    Activation,
    { id, ended_at: IsNull() },
    { ended_at, ended_reason: 'released', released_by_holder },
  );
  if (!affected) return false;
  await announceRelease(manager, id, ended_at);
  return true;
}

/** Ends a license whose purchase was refunded, and its active bindings, behind the lock that takers of a seat wait for. */
export async function endRefunded(manager: EntityManager, licenseId: string, at: Date): Promise<void> {
  const license = await lockLicense(manager, licenseId);
  const ended_at = license.ended_at ?? at;
  const end_changed_at = endChangedAt(license, { ...license, ended_at }, at);
  await manager.update(License, { id: licenseId }, { ended_at, end_changed_at });
  const end = { ended_at: at, ended_reason: 'refunded' } as const;
  await manager.update(Activation, { license_id: licenseId, ended_at: IsNull() }, end);
}

function refuse(): never {
  throw problem('not_found');
}
