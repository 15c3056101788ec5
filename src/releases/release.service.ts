import { Injectable } from '@nestjs/common';
import { DataSource, EntityManager, IsNull } from 'typeorm';
import { validate as isUuid } from 'uuid';
import { recordAudit, type AuditContext } from '../audit/audit.js';
import { Clock } from '../core/clock.js';
import { Config } from '../core/config.js';
import { execute } from '../database/sql.js';
import { problem } from '../http/problems/problem.js';
import { timeUnderCurrentHolder } from '../licenses/former-holder.js';
import { License } from '../licenses/license.entity.js';
import { endChangedAt } from '../licenses/license.rules.js';
import { lockLicense } from '../licenses/licenses.service.js';
import { enqueueMail } from '../mail/mail.service.js';
import { Activation } from '../activation/activation.entity.js';
import { toActivationView } from '../activation/license-overview.js';
import { decideOpenRequest } from './release-requests.js';
import { countSelfReleases } from './self-releases.js';

/** An activation after a release. */
interface ReleaseResult {
  readonly activation: Activation;
  /** Whether this call released it; false if it had already ended. */
  readonly was_active: boolean;
}

/** The response to a release. */
export const releasedView = ({ activation, was_active }: ReleaseResult) => ({
  activation: toActivationView(activation),
  was_active,
});

/** Releases activations, so that other machines can be activated. Releasing an ended activation changes nothing. */
@Injectable()
export class ReleaseService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
    private readonly config: Config,
  ) {}

  /** Releases an activation for staff. @throws Problem `not_found` */
  async release(id: string, audit: AuditContext): Promise<ReleaseResult> {
    return this.withLockedLicense(id, (manager, _activation, license) =>
      this.releaseLocked(manager, id, license, audit),
    );
  }

  /**
   * Releases an activation for its holder, who may do this SELF_RELEASES_PER_YEAR times within 365 days for each license.
   * @param email the address of the holder; a license of another address is `not_found`, and so is an activation that ended under a
   *   former holder @param language of the holder's page
   * @throws Problem `not_found`, `release_needs_support`
   */
  async releaseForHolder(id: string, email: string, language?: string): Promise<ReleaseResult> {
    return this.withLockedLicense(id, async (manager, activation, license) => {
      if (license.email !== email || isOfFormerHolder(activation, license)) throwNotFound();
      if (activation.ended_at) return;
      const at = timeUnderCurrentHolder(license, this.clock.now());
      // The releases are counted under the lock, so that concurrent releases count each other.
      const released = await countSelfReleases(manager, activation.license_id, at);
      if (released >= this.config.selfReleasesPerYear) throw problem('release_needs_support');
      await endActivation(manager, id, { ended_at: at, released_by_holder: true });
      await enqueueMail(manager, 'binding_released', id, at, { language });
      // An open request is obsolete.
      const deleteRequest = 'delete from release_request where activation_id = $1 and decided_at is null';
      await execute(manager, deleteRequest, [id]);
    });
  }

  /**
   * Runs `work` while the license of an activation is locked.
   * @param work must release the activation if it is active, or throw
   * @returns the activation after `work`; `was_active` is whether it was active before
   */
  private async withLockedLicense(
    id: string,
    work: (manager: EntityManager, activation: Activation, license: License) => Promise<void>,
  ): Promise<ReleaseResult> {
    if (!isUuid(id)) throw problem('not_found');
    return this.dataSource.transaction(async (manager) => {
      const { license_id } = (await manager.findOneBy(Activation, { id })) ?? throwNotFound();
      // Requests to activate take the same lock, so the next request no longer counts the released machine.
      const license = await lockLicense(manager, license_id);
      // Retention deletes ended activations without this lock, so the activation may have been deleted since it was read.
      const before = (await manager.findOneBy(Activation, { id })) ?? throwNotFound();
      await work(manager, before, license);
      if (before.ended_at) return { activation: before, was_active: false };
      return { activation: await manager.findOneByOrFail(Activation, { id }), was_active: true };
    });
  }

  /**
   * Releases an activation in the caller's transaction, which holds the lock of the license (`lockLicense`).
   * @param language of the mail; by default that of the open release request, if there is one
   */
  async releaseLocked(
    manager: EntityManager,
    id: string,
    license: License,
    audit: AuditContext,
    language?: string,
  ): Promise<void> {
    const at = timeUnderCurrentHolder(license, this.clock.now());
    if (!(await endActivation(manager, id, { ended_at: at, released_by_holder: false }))) return;
    // An open request is decided by the release.
    const requestLanguage = await decideOpenRequest(manager, id, 'release', at);
    await enqueueMail(manager, 'binding_released', id, at, { language: language ?? requestLanguage });
    const change = { activation_id: id };
    await recordAudit(manager, audit, { action: 'activation.release', license_id: license.id, change, at });
  }
}

/** Whether an activation ended before its license got its current address: the opposite of `sinceCurrentHolder` in SQL. */
const isOfFormerHolder = ({ ended_at }: Activation, { email_since }: License): boolean =>
  ended_at !== null && email_since !== null && ended_at <= email_since;

/** Ends an active activation. @returns false if it had already ended */
async function endActivation(
  manager: EntityManager,
  id: string,
  { ended_at, released_by_holder }: Pick<Activation, 'released_by_holder'> & { readonly ended_at: Date },
): Promise<boolean> {
  const { affected } = await manager.update(
    Activation,
    { id, ended_at: IsNull() },
    { ended_at, ended_reason: 'released', released_by_holder },
  );
  return Boolean(affected);
}

/** Ends a refunded license and its active activations. It locks the license, as each activation of a machine does. */
export async function endRefundedLicense(manager: EntityManager, licenseId: string, at: Date): Promise<void> {
  const license = await lockLicense(manager, licenseId);
  const ended_at = license.ended_at ?? at;
  const end_changed_at = endChangedAt(license, { ...license, ended_at }, at);
  await manager.update(License, { id: licenseId }, { ended_at, end_changed_at });
  // A machine that was activated while this transaction waited for the lock has a later time.
  const endActivations = `update activation set ended_at = greatest($2, activated_at), ended_reason = 'refunded'
                          where license_id = $1 and ended_at is null`;
  await execute(manager, endActivations, [licenseId, at]);
  // The language of a request is stored for the mail about its decision, which is not sent for an ended activation.
  const removeLanguages = `update release_request r set language = null from activation a
                           where a.id = r.activation_id and a.license_id = $1 and r.language is not null`;
  await execute(manager, removeLanguages, [licenseId]);
}

function throwNotFound(): never {
  throw problem('not_found');
}
