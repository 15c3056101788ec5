import { Injectable } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import { endRefunded } from '../releases/release.service.js';
import { recordAudit, type Act } from '../audit/audit.js';
import { Clock, utcDay } from '../core/clock.js';
import { LicenseKeys } from '../keys/license-keys.js';
import type { SoldIds } from '../keys/sold-ids.js';
import { canonicalEmail } from '../licenses/email.js';
import type { PurchaseState } from '../licenses/license.rules.js';
import { LicensesService } from '../licenses/licenses.service.js';
import { ErasureService } from '../erasure/erasure.service.js';
import type { PurchaseReport } from './purchase.dto.js';
import { higherState } from './purchase.rules.js';

interface Purchase {
  readonly id: string;
  readonly state: PurchaseState;
  readonly paid: boolean;
}

/**
 * Takes in what the payment processor reports. Reports come in any order and any number of times: what a purchase
 * becomes depends on which came, and on nothing else (contract, section 2).
 */
@Injectable()
export class PurchasesService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly licenses: LicensesService,
    private readonly keys: LicenseKeys,
    private readonly erasures: ErasureService,
    private readonly clock: Clock,
  ) {}

  /**
   * Records a report with all that follows from it, in one transaction: a license and its mail, or the end of one.
   * @param act who reports it by hand; the processor leaves no trace of its own
   */
  async record(
    report: PurchaseReport,
    act?: Act,
  ): Promise<{ state: PurchaseState; license_id: string | null }> {
    const ids = this.keys.soldIds(report.transaction_id);
    const isErased = await this.erasures.wasErased(ids.purchase_id, ids.license_id);
    return this.dataSource.transaction(async (manager) => {
      const now = this.clock.now();
      const before = await lockPurchase(manager, ids.purchase_id, report, now);
      const state = higherState(before.state, report.status);
      if (state !== before.state) {
        await manager.query('update purchase set state = $2 where id = $1', [before.id, state]);
      }
      if (report.status === 'paid' && !before.paid) {
        const email = isErased ? null : canonicalEmail(report.email!);
        await this.issue(manager, { ...ids, purchase_id: before.id }, email, state);
      }
      const license_id = await licenseOf(manager, before.id);
      if (state === 'refunded' && license_id) await endRefunded(manager, license_id, now);
      if (act) {
        const change = { purchase_id: before.id, status: report.status };
        await recordAudit(manager, act, {
          action: 'purchase.record',
          license_id: license_id ?? undefined,
          change,
          at: now,
        });
      }
      return { state, license_id };
    });
  }

  /** @param email null where the buyer was erased: then nothing is issued, today or at the next replay */
  private async issue(
    manager: EntityManager,
    ids: SoldIds,
    email: string | null,
    state: PurchaseState,
  ): Promise<void> {
    const known = await this.licenses.adoptSold(manager, ids);
    const sql = 'update purchase set paid = true, email = $2 where id = $1';
    await manager.query(sql, [ids.purchase_id, email && known ? known.email : email]);
    if (!known && email !== null) await this.licenses.issueSold(manager, ids, email, state === 'refunded');
  }
}

/** The row of a transaction, made where there is none, and locked: reports of one purchase wait for each other. */
async function lockPurchase(
  manager: EntityManager,
  id: string,
  { transaction_id, status }: PurchaseReport,
  now: Date,
): Promise<Purchase> {
  // Two reports at once conflict by their transaction or by the id that is made of it, whichever is looked at first.
  await manager.query(
    `insert into purchase (id, transaction_id, state, recorded_on) values ($1, $2, $3, $4)
     on conflict do nothing`,
    [id, transaction_id, status, utcDay(now)],
  );
  const sql = 'select id, state, paid from purchase where transaction_id = $1 for update';
  const [purchase] = (await manager.query(sql, [transaction_id])) as [Purchase];
  return purchase;
}

/** Asked behind the lock, in a statement of its own: one that had waited for it would see what was before. */
async function licenseOf(manager: EntityManager, purchaseId: string): Promise<string | null> {
  const sql = 'select id from license where purchase_id = $1';
  const [license] = (await manager.query(sql, [purchaseId])) as { id: string }[];
  return license?.id ?? null;
}
