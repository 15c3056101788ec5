import { Injectable } from '@nestjs/common';
import { DataSource, EntityManager, IsNull } from 'typeorm';
import { validate as isUuid } from 'uuid';
import { recordAudit, type Act } from '../audit/audit.js';
import { Clock } from '../clock.js';
import { problem } from '../http/problem.js';
import { announceRelease } from '../licenses/license-mails.js';
import { License } from '../licenses/license.entity.js';
import { lockLicense } from '../licenses/licenses.service.js';
import { Activation } from './activation.entity.js';

/** Ends a binding, so that its seat is free. */
@Injectable()
export class ReleaseService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  /** Releases a binding; one that has ended stays as it ended, so twice is the same answer. Throws `not_found`. */
  async release(id: string, act: Act): Promise<Activation> {
    if (!isUuid(id)) throw problem('not_found');
    return this.dataSource.transaction(async (manager) => {
      const { license_id } = (await manager.findOneBy(Activation, { id })) ?? refuse();
      // The same lock as a taker's: the freed seat is counted by whoever comes next.
      await lockLicense(manager, license_id);
      return this.releaseLocked(manager, id, act);
    });
  }

  /** The same in the caller's transaction, which holds the lock of the license (`lockLicense`). */
  async releaseLocked(manager: EntityManager, id: string, act: Act): Promise<Activation> {
    const ended_at = this.clock.now();
    const { affected } = await manager.update(
      Activation,
      { id, ended_at: IsNull() },
      { ended_at, ended_reason: 'released' },
    );
    const ended = await manager.findOneByOrFail(Activation, { id });
    if (affected) {
      const { license_id } = ended;
      const change = { activation_id: id };
      await recordAudit(manager, act, { action: 'activation.release', license_id, change, at: ended_at });
      await announceRelease(manager, id, ended_at);
    }
    return ended;
  }
}

/** Ends a license whose purchase was refunded, and its active bindings, behind the lock that takers of a seat wait for. */
export async function endRefunded(manager: EntityManager, licenseId: string, at: Date): Promise<void> {
  const license = await lockLicense(manager, licenseId);
  await manager.update(License, { id: licenseId }, { ended_at: license.ended_at ?? at });
  const end = { ended_at: at, ended_reason: 'refunded' } as const;
  await manager.update(Activation, { license_id: licenseId, ended_at: IsNull() }, end);
}

function refuse(): never {
  throw problem('not_found');
}
