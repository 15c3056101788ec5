import { Injectable } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import { findLicenses } from '../activation/license-overview.js';
import { Clock, rfc3339 } from '../core/clock.js';
import { waitingErasure } from '../erasure/erasure.view.js';
import { bindingsMore, histories, licensesMore, purchases, signIns } from './export.queries.js';

/** Said in the export itself, so that nobody has to ask for what is not there. */
const NOT_HERE = [
  'License keys: they are not stored. To have one mailed to you once more, ask for it in the license portal.',
  'Hashes by which keys and sessions are recognised, for they are secrets.',
  'Which person of our staff did something, for that is about them.',
  'Telemetry: it holds no link to you, to a license or to a machine, so it cannot be found for one person.',
] as const;

/** Everything held about a holder (privacy.md; Art. 15 and 20 GDPR), as of one moment. */
@Injectable()
export class HolderExport {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  async of(email: string) {
    return this.dataSource.transaction('REPEATABLE READ', async (manager) => {
      const now = this.clock.now();
      const licenses = await this.licenses(manager, email);
      const ids = licenses.map(({ id }) => id);
      return {
        exported_at: rfc3339(now),
        email,
        licenses,
        purchases: await purchases(manager, email),
        erasure: await waitingErasure(manager, email),
        ...(await signIns(manager, email, ids, now)),
        not_here: NOT_HERE,
      };
    });
  }

  private async licenses(manager: EntityManager, email: string) {
    const found = await findLicenses(manager, { email }, { forHolder: true });
    const ids = found.map(({ id }) => id);
    const more = await bindingsMore(manager, ids);
    const moreOfLicenses = await licensesMore(manager, ids);
    const byLicense = await histories(manager, ids);
    return found.map((view) => {
      // An address that is lost has no holder who could ask for an export.
      const { activations, is_address_lost: _, ...license } = view;
      return {
        ...license,
        ...moreOfLicenses.get(license.id),
        activations: activations.map((binding) => ({ ...binding, ...more.get(binding.id) })),
        history: (byLicense.get(license.id) ?? []).map(({ at, action, reason, change }) => ({
          at: rfc3339(at),
          action,
          reason,
          change,
        })),
      };
    });
  }
}
