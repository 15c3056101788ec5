import { Injectable } from '@nestjs/common';
import { problem, type Problem } from '../http/problem.js';
import type { LicenseClaims } from '../keys/license-token.js';
import { expiryRefusal, statusRefusal } from '../licenses/license.rules.js';
import { LicensesService } from '../licenses/licenses.service.js';
import { Coverage } from '../manifest/coverage.js';
import { Bindings, type BindingFacts } from './bindings.js';

/** Confirms that a license still holds on its machine. It only reads: a heartbeat leaves nothing behind. */
@Injectable()
export class HeartbeatService {
  constructor(
    private readonly bindings: Bindings,
    private readonly licenses: LicensesService,
    private readonly coverage: Coverage,
  ) {}

  /**
   * The binding of a genuine token, where the license holds.
   * @throws Problem, the first that applies in the contract's order
   */
  async confirm({ sub }: LicenseClaims, appVersion: string, now: Date): Promise<BindingFacts> {
    const binding = await this.bindings.find(sub);
    if (!binding) {
      await this.licenses.refuseWrongDatabase();
      // A restored backup, another database, long since deleted: no word of the license itself.
      throw problem('token_invalid');
    }
    const refusal =
      statusRefusal(binding) ??
      releaseRefusal(binding) ??
      expiryRefusal(binding, now) ??
      (await this.coverage.refusal(appVersion, binding.expires_at));
    if (refusal) throw refusal;
    return binding;
  }
}

// The old machine must not quietly take its seat back: only a person's click activates again.
function releaseRefusal({ ended_at }: BindingFacts): Problem | undefined {
  return ended_at ? problem('binding_released') : undefined;
}
