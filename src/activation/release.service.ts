import { Injectable } from '@nestjs/common';
import { DataSource, IsNull } from 'typeorm';
import { validate as isUuid } from 'uuid';
import { recordAudit, type Act } from '../audit/audit.js';
import { Clock } from '../clock.js';
import { problem } from '../http/problem.js';
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
      const ended_at = this.clock.now();
      const { affected } = await manager.update(
        Activation,
        { id, ended_at: IsNull() },
        { ended_at, ended_reason: 'released' },
      );
      const deed = {
        action: 'activation.release',
        license_id,
        change: { activation_id: id },
        at: ended_at,
      } as const;
      if (affected) await recordAudit(manager, act, deed);
      return manager.findOneByOrFail(Activation, { id });
    });
  }
}

function refuse(): never {
  throw problem('not_found');
}
