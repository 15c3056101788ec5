import { Injectable } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import { validate as isUuid } from 'uuid';
import { queryRow } from '../database/sql.js';
import { decideOpenRequest, type Decision } from './release-requests.js';
import { ReleaseService } from './release.service.js';
import { recordAudit, type AuditContext } from '../audit/audit.js';
import { Clock, rfc3339 } from '../core/clock.js';
import { problem } from '../http/problems/problem.js';
import type { ReleaseDecision, ReleaseDecisionAnswer } from '../http/responses/api-types.js';
import { timeUnderCurrentHolder } from '../licenses/former-holder.js';
import { lockLicense } from '../licenses/licenses.service.js';
import { enqueueMail } from '../mail/mail.service.js';

interface RequestRow {
  readonly activation_id: string;
  readonly license_id: string;
  readonly decision: Decision | null;
  readonly decided_at: Date | null;
  readonly is_active: boolean;
}

/**
 * An SQL expression: the reason that staff gave for the decision about a request (alias `r`) on a license (alias `l`). It is
 * stored in the audit trail and not with the request, whose own reason is that of the holder.
 */
export const DECISION_REASON = `
  (select e.reason from audit_event e where e.license_id = l.id and e.action = 'release_request.decide'
     and e.change ->> 'release_request_id' = r.id::text)`;

const FIND_REQUEST = `
  select r.activation_id, a.license_id, r.decision, r.decided_at, a.ended_at is null as is_active
  from release_request r join activation a on a.id = r.activation_id where r.id = $1`;

/** Decisions of staff about the requests of holders to release a machine. */
@Injectable()
export class ReleaseDecisions {
  constructor(
    private readonly dataSource: DataSource,
    private readonly releases: ReleaseService,
    private readonly clock: Clock,
  ) {}

  /**
   * Decides an open request, releases the activation if that is the decision, and mails the decision to the holder
   * unless the activation has ended meanwhile. For a decided request it returns the first decision.
   * @throws Problem `not_found`
   */
  async decide(id: string, decision: Decision, audit: AuditContext): Promise<ReleaseDecisionAnswer> {
    if (!isUuid(id)) throw problem('not_found');
    return this.dataSource.transaction(async (manager) => {
      const { license_id } = await findRequest(manager, id);
      // The license is locked before its activation, as for each release. The request is read again under the lock.
      const license = await lockLicense(manager, license_id);
      const request = await findRequest(manager, id);
      if (request.decision)
        return { release_request: decisionView(id, request.decision, request.decided_at!), was_open: false };
      const at = this.clock.now();
      const { activation_id } = request;
      // An activation has at most one open request: this one.
      const language = await decideOpenRequest(manager, activation_id, decision, at);
      const change = { release_request_id: id, activation_id, decision };
      await recordAudit(manager, audit, {
        action: 'release_request.decide',
        license_id,
        change,
        at: timeUnderCurrentHolder(license, at),
      });
      if (decision === 'release')
        await this.releases.releaseLocked(manager, activation_id, license, audit, language);
      // An activation that has ended meanwhile needs no mail.
      else if (request.is_active) await enqueueMail(manager, 'release_declined', id, at, { language });
      return { release_request: decisionView(id, decision, at), was_open: true };
    });
  }
}

async function findRequest(manager: EntityManager, id: string): Promise<RequestRow> {
  const request = await queryRow<RequestRow>(manager, FIND_REQUEST, [id]);
  if (!request) throw problem('not_found');
  return request;
}

function decisionView(id: string, decision: Decision, at: Date): ReleaseDecision {
  return { id, decision, decided_at: rfc3339(at) };
}
