import { Injectable } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import { findLicenses } from '../activation/license-overview.js';
import { Clock, rfc3339 } from '../core/clock.js';
import { findWaitingErasure } from '../erasure/erasure.view.js';
import { readActivationFields, readPurchases, readSignInData } from './export.queries.js';
import { readEvents, readHistories, readLicenseFields } from './exported-licenses.js';

/** The data that the export does not contain. The export lists them with the reason, so that holders need not ask. */
const NOT_INCLUDED = [
  'License keys: they are not stored. To have one mailed to you once more, ask for it in the license portal, or else ask support.',
  'Hashes and random numbers by which keys, sessions and codes are recognized, because they are secrets.',
  'Queued mails and jobs that are not listed here: they contain only ids, the language of a mail and whether staff requested an erasure, and are deleted when they are done.',
  'The names of the staff members who made changes, because they are data about these persons.',
  'Telemetry: it contains no link to you, to a license or to a machine, so it cannot be found for one person.',
] as const;

/** Exports all data that is stored about a holder (Art. 15 and 20 GDPR). */
@Injectable()
export class HolderExportService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  /** Creates the export of an address. All queries see the same state of the database. */
  async create(email: string) {
    return this.dataSource.transaction('REPEATABLE READ', async (manager) => {
      const now = this.clock.now();
      const licenses = await this.readLicenses(manager, email);
      const ids = licenses.map(({ id }) => id);
      return {
        exported_at: rfc3339(now),
        email,
        licenses,
        purchases: await readPurchases(manager, email),
        erasure: await findWaitingErasure(manager, email),
        ...(await readSignInData(manager, email, ids, now)),
        not_here: NOT_INCLUDED,
      };
    });
  }

  private async readLicenses(manager: EntityManager, email: string) {
    const found = await findLicenses(manager, { email }, { isForHolder: true });
    const ids = found.map(({ id }) => id);
    const activationFields = await readActivationFields(manager, ids);
    const licenseFields = await readLicenseFields(manager, ids);
    const histories = await readHistories(manager, ids);
    const events = await readEvents(manager, ids);
    return found.map((view) => {
      // `is_address_lost` is always false here, because a license without an address has no holder who could sign in.
      const { activations, is_address_lost: _, ...license } = view;
      return {
        ...license,
        ...licenseFields.get(license.id),
        activations: activations.map((activation) => ({
          ...activation,
          ...activationFields.get(activation.id),
        })),
        history: histories.get(license.id) ?? [],
        events: events.get(license.id) ?? [],
      };
    });
  }
}
