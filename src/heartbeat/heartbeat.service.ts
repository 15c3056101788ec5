import { Injectable } from '@nestjs/common';
import { problem, type Problem } from '../http/problems/problem.js';
import type { LicenseClaims } from '../keys/tokens/license-token.js';
import { expiryRefusal, statusRefusal } from '../licenses/license.rules.js';
import { LicensesService } from '../licenses/licenses.service.js';
import { Coverage } from '../manifest/coverage.js';
import { ActivationReads, type ActivationState } from './activation-reads.js';
import { Replica } from './replica.js';

/** Decides about heartbeats: whether a license is valid on the machine of a token. It only reads the database. */
@Injectable()
export class HeartbeatService {
  /** The number of heartbeats since the start of the process, by the database that decided about them. */
  readonly answersBySource = { replica: 0, primary: 0 };

  constructor(
    private readonly replica: Replica,
    private readonly activations: ActivationReads,
    private readonly licenses: LicensesService,
    private readonly coverage: Coverage,
  ) {}

  /**
   * Returns the activation of a verified token if its license is valid.
   * @throws Problem the first refusal that applies, in the order of docs/contract.md#errors; `token_invalid` if no row has the
   *   activation, or if the machine has another active one; `unavailable` if a refusal may be wrong,
   *   because the clock of the service may be wrong, or it may use a wrong database
   */
  async confirm({ sub, mch }: LicenseClaims, appVersion: string, now: Date): Promise<ActivationState> {
    const replicaActivation = await this.replica.find(sub);
    // A replica can only confirm. A refusal is decided by the primary, because the replica may lag (docs/decisions/0013).
    if (
      replicaActivation &&
      !refusalOf(replicaActivation, now) &&
      this.coverage.covers(appVersion, replicaActivation.expires_at)
    ) {
      this.answersBySource.replica += 1;
      return replicaActivation;
    }
    const activation = await this.activations.find(sub);
    this.answersBySource.primary += 1;
    if (!activation) {
      await this.licenses.assertDatabaseHasLicenses();
      // The row was deleted, or a restored backup lacks it. Neither says that the license is invalid, so the client activates
      // again.
      throw problem('token_invalid');
    }
    const refusal =
      refusalOf(activation, now) ?? (await this.coverage.refusal(appVersion, activation.expires_at));
    if (refusal?.code === 'license_expired') await this.licenses.assertTimeIsCertain(now);
    // If the machine has another activation, which is active, the client has restored an older state file, whose token names the
    // ended activation. The client activates again, which returns the active activation (docs/decisions/0022).
    if (
      refusal?.code === 'binding_released' &&
      (await this.activations.hasActive(activation.license_id, mch))
    )
      throw problem('token_invalid');
    if (refusal) throw refusal;
    return activation;
  }
}

// The refusal that follows from the row; docs/contract.md#errors has the order.
function refusalOf(activation: ActivationState, now: Date): Problem | undefined {
  return statusRefusal(activation) ?? releaseRefusal(activation) ?? expiryRefusal(activation, now);
}

// A heartbeat does not activate a released machine again. Only the user of the machine does.
function releaseRefusal({ ended_at }: ActivationState): Problem | undefined {
  return ended_at ? problem('binding_released') : undefined;
}
