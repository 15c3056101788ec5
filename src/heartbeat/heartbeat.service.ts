import { Injectable } from '@nestjs/common';
import { problem, type Problem } from '../http/problems/problem.js';
import type { LicenseClaims } from '../keys/tokens/license-token.js';
import { expiryRefusal, statusRefusal } from '../licenses/license.rules.js';
import { LicensesService } from '../licenses/licenses.service.js';
import { Coverage } from '../manifest/coverage.js';
import { ActivationReads, type ActivationFacts } from './activation-reads.js';
import { Replica } from './replica.js';

/** Confirms that a license still holds on its machine. It only reads: a heartbeat leaves nothing behind. */
@Injectable()
export class HeartbeatService {
  /** Since the start: heartbeats that were answered, yes or no, by whose word it was. */
  readonly answered = { replica: 0, primary: 0 };

  constructor(
    private readonly replica: Replica,
    private readonly bindings: ActivationReads,
    private readonly licenses: LicensesService,
    private readonly coverage: Coverage,
  ) {}

  /**
   * The binding of a genuine token, where the license holds.
   * @throws Problem, the first that applies in the contract's order
   */
  async confirm({ sub, mch }: LicenseClaims, appVersion: string, now: Date): Promise<ActivationFacts> {
    const copy = await this.replica.find(sub);
    // Only a yes of the replica's is believed: it may not have heard yet of what made a no a yes (decision 0013).
    if (copy && !refusalOf(copy, now) && this.coverage.covers(appVersion, copy.expires_at)) {
      this.answered.replica += 1;
      return copy;
    }
    const binding = await this.bindings.find(sub);
    this.answered.primary += 1;
    if (!binding) {
      await this.licenses.refuseWrongDatabase();
      // A restored backup, another database, long since deleted: no word of the license itself.
      throw problem('token_invalid');
    }
    const refusal = refusalOf(binding, now) ?? (await this.coverage.refusal(appVersion, binding.expires_at));
    if (refusal?.code === 'license_expired') await this.licenses.refuseWrongTime();
    // This machine was activated again since: it asks with a token of before, from a state file that was restored. It
    // may activate once more, which gives it the binding that it has (docs/decisions/0022).
    if (refusal?.code === 'binding_released' && (await this.bindings.hasActive(binding.license_id, mch)))
      throw problem('token_invalid');
    if (refusal) throw refusal;
    return binding;
  }
}

// What the row itself says, in the contract's order.
function refusalOf(binding: ActivationFacts, now: Date): Problem | undefined {
  return statusRefusal(binding) ?? releaseRefusal(binding) ?? expiryRefusal(binding, now);
}

// The old machine must not quietly take its seat back: only a person's click activates again.
function releaseRefusal({ ended_at }: ActivationFacts): Problem | undefined {
  return ended_at ? problem('binding_released') : undefined;
}
