import { Injectable } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import { isStatementTimeout } from '../database/temporary-errors.js';
import { DatabaseUrl, withMaintenanceConnection } from '../database/data-source.js';
import { execute, queryIds, queryOne } from '../database/sql.js';
import { endRefundedLicense } from '../releases/release.service.js';
import { recordAudit, type AuditContext } from '../audit/audit.js';
import { Clock, utcDay } from '../core/clock.js';
import { LicenseKeys, type PurchaseIds } from '../keys/license-keys.js';
import type { PurchaseState } from '../licenses/license.rules.js';
import { LicensesService } from '../licenses/licenses.service.js';
import { ErasureService } from '../erasure/erasure.service.js';
import type { PurchaseReport } from './purchase.dto.js';
import { higherState } from './purchase.rules.js';

interface Purchase {
  readonly id: string;
  readonly state: PurchaseState;
  /** Whether a report with the status `paid` was recorded. `state` does not show it: a dispute may be reported first. */
  readonly paid: boolean;
}

/** A purchase after a report. `license_id` is the first of its licenses. */
interface RecordedPurchase {
  readonly state: PurchaseState;
  readonly license_id: string | null;
  readonly license_ids: string[];
}

/**
 * Records the reports of the payment processor. Reports arrive in any order and repeatedly; the state of a purchase depends
 * only on the set of its reports (docs/contract.md#purchases).
 */
@Injectable()
export class PurchasesService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly licenses: LicensesService,
    private readonly keys: LicenseKeys,
    private readonly erasures: ErasureService,
    private readonly databaseUrl: DatabaseUrl,
    private readonly clock: Clock,
  ) {}

  /**
   * Records a report and its effects in one transaction: a license and its mail, or the end of the licenses of the purchase. An
   * imported purchase may have several licenses.
   * @param audit given if an operator records the purchase (`mooring purchase record`); reports of the processor have
   *   no audit event
   */
  async record(report: PurchaseReport, audit?: AuditContext): Promise<RecordedPurchase> {
    const ids = this.keys.purchaseIds(report.transaction_id);
    const isErased = await this.erasures.wasErased(ids.purchase_id, ids.license_id);
    const work = (manager: EntityManager) => this.recordIn(manager, report, ids, isErased, audit);
    return this.dataSource.transaction(work).catch((error: unknown) => {
      if (report.status !== 'refunded' || !isStatementTimeout(error)) throw error;
      return this.withoutTimeLimit(work);
    });
  }

  private async recordIn(
    manager: EntityManager,
    report: PurchaseReport,
    ids: PurchaseIds,
    isErased: boolean,
    audit: AuditContext | undefined,
  ): Promise<RecordedPurchase> {
    const now = this.clock.now();
    const before = await lockPurchase(manager, ids.purchase_id, report, now);
    const state = higherState(before.state, report.status);
    if (state !== before.state) {
      await execute(manager, 'update purchase set state = $2 where id = $1', [before.id, state]);
    }
    if (!before.paid) {
      // The stored purchase has another id than the derived one if it was stored before `mooring keys accept-secret`.
      const stored = { ...ids, purchase_id: before.id };
      // A refund or a dispute also finds a license whose purchase was deleted or lost: the payment may never be reported again.
      const existing = await this.licenses.linkToPurchase(manager, stored);
      if (report.status === 'paid')
        await this.recordPaid(manager, stored, existing, isErased ? null : report.email!, state);
    }
    const license_ids = await findLicenseIds(manager, before.id);
    if (state === 'refunded')
      for (const license_id of license_ids) await endRefundedLicense(manager, license_id, now);
    if (audit) {
      const change = {
        purchase_id: before.id,
        status: report.status,
        ...(state !== before.state && { before: { status: before.state } }),
      };
      for (const license_id of license_ids.length > 0 ? license_ids : [undefined])
        await recordAudit(manager, audit, { action: 'purchase.record', license_id, change, at: now });
    }
    return { state, license_id: license_ids[0] ?? null, license_ids };
  }

  /**
   * Repeats a transaction that exceeded the time limit of request connections. A refund does so if its license has tens of
   * thousands of activations. It may end after the response to the processor, which is sent in any case within two seconds.
   */
  private withoutTimeLimit<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    const inTransaction = async (manager: EntityManager) => {
      // A wait for a lock may have exceeded the limit. Such a wait fails again after the same time.
      await execute(manager, "set local lock_timeout = '800ms'");
      return work(manager);
    };
    const { entities = [] } = this.dataSource.options;
    return withMaintenanceConnection(
      this.databaseUrl.value,
      (dataSource) => dataSource.transaction(inTransaction),
      { entities },
    );
  }

  /**
   * Records that a purchase was paid, and issues its license unless one exists.
   * @param existing the license of the purchase, see `linkToPurchase`
   * @param email null if the buyer was erased: then no license is issued, even if the report is repeated later
   */
  private async recordPaid(
    manager: EntityManager,
    ids: PurchaseIds,
    existing: { email: string | null } | undefined,
    email: string | null,
    state: PurchaseState,
  ): Promise<void> {
    // An existing license keeps its holder, so the purchase gets the address of this holder instead of the reported one.
    const sql = 'update purchase set paid = true, email = $2 where id = $1';
    await execute(manager, sql, [ids.purchase_id, email && existing ? existing.email : email]);
    if (!existing && email !== null)
      await this.licenses.issueForPurchase(manager, ids, email, state === 'refunded');
  }
}

/** Inserts the row of a purchase if it is missing, and locks it. Concurrent reports of one purchase wait here. */
async function lockPurchase(
  manager: EntityManager,
  id: string,
  { transaction_id, status }: PurchaseReport,
  now: Date,
): Promise<Purchase> {
  // Concurrent reports conflict on the transaction id or on the id that is derived from it, so no conflict target is given.
  await execute(
    manager,
    `insert into purchase (id, transaction_id, state, recorded_on) values ($1, $2, $3, $4)
     on conflict do nothing`,
    [id, transaction_id, status, utcDay(now)],
  );
  const sql = 'select id, state, paid from purchase where transaction_id = $1 for update';
  return queryOne<Purchase>(manager, sql, [transaction_id]);
}

/**
 * Finds the licenses of a purchase, in the order in which they are locked. `lockPurchase` cannot read them: a statement that waits
 * for a lock reads all other rows as they were before the wait.
 */
function findLicenseIds(manager: EntityManager, purchaseId: string): Promise<string[]> {
  return queryIds(manager, 'select id from license where purchase_id = $1 order by id', [purchaseId]);
}
