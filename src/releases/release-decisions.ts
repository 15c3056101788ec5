import { Injectable } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import { validate as isUuid } from 'uuid';
import { ReleaseService } from './release.service.js';
import { recordAudit, type Act } from '../audit/audit.js';
import { Clock, rfc3339 } from '../core/clock.js';
import { problem } from '../http/problems/problem.js';
import { lockLicense } from '../licenses/licenses.service.js';
import { enqueueMail } from '../mail/mail.service.js';

export const DECISIONS = ['release', 'decline'] as const;
export type Decision = (typeof DECISIONS)[number];

/** A request as it was decided. */
export interface Decided {
  readonly id: string;
  readonly decision: Decision;
  readonly decided_at: string;
}

interface Request {
  readonly activation_id: string;
  readonly license_id: string;
  readonly decision: Decision | null;
  readonly decided_at: Date | null;
  readonly is_active: boolean;
}

const REQUEST = `
  select r.activation_id, a.license_id, r.decision, r.decided_at, a.ended_at is null as is_active
  from release_request r join activation a on a.id = r.activation_id where r.id = $1`;

/** What staff decide about holders' requests to release a machine. */
@Injectable()
export class ReleaseDecisions {
  constructor(
    private readonly dataSource: DataSource,
    private readonly releases: ReleaseService,
    private readonly clock: Clock,
  ) {}

  /**
   * Decides an open request, and releases the binding where that is the decision; the holder is told by mail. One that was
   * decided before stays as it was: of two who decide at once, the second is told what the first one did.
   * @throws Problem `not_found`
   */
  async decide(id: string, decision: Decision, act: Act): Promise<Decided> {
    if (!isUuid(id)) throw problem('not_found');
    return this.dataSource.transaction(async (manager) => {
      const { license_id } = await read(manager, id);
      // The license comes first, as wherever a binding ends; what was read before it is read again behind it.
      await lockLicense(manager, license_id);
      const request = await read(manager, id);
      if (request.decision) return decided(id, request.decision, request.decided_at!);
      const at = this.clock.now();
      const sql = 'update release_request set decision = $2, decided_at = $3 where id = $1';
      await manager.query(sql, [id, decision, at]);
      const change = { release_request_id: id, activation_id: request.activation_id, decision };
      await recordAudit(manager, act, { action: 'release_request.decide', license_id, change, at });
      if (decision === 'release')
        await this.releases.releaseLocked(manager, { id: request.activation_id, license_id }, act);
      // Of a binding that ended meanwhile there is nothing to decline.
      else if (request.is_active) await enqueueMail(manager, 'release_declined', id, at);
      return decided(id, decision, at);
    });
  }
}

async function read(manager: EntityManager, id: string): Promise<Request> {
  const [request] = (await manager.query(REQUEST, [id])) as Request[];
  if (!request) throw problem('not_found');
  return request;
}

function decided(id: string, decision: Decision, at: Date): Decided {
  return { id, decision, decided_at: rfc3339(at) };
}
