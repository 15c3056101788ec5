import { Injectable } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { endRefunded } from '../activation/release.service.js';
import { recordAudit, type Act } from '../audit/audit.js';
import { Clock, utcDay } from '../clock.js';
import { canonicalEmail } from '../licenses/email.js';
import type { PurchaseState } from '../licenses/license.rules.js';
import { LicensesService } from '../licenses/licenses.service.js';
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
    return this.dataSource.transaction(async (manager) => {
      const now = this.clock.now();
      const before = await lockPurchase(manager, report, now);
      const state = higherState(before.state, report.status);
      if (state !== before.state) {
        await manager.query('update purchase set state = $2 where id = $1', [before.id, state]);
      }
      const issues = report.status === 'paid' && !before.paid;
      const license_id = issues
        ? await this.issue(manager, before.id, report, state)
        : await licenseOf(manager, before.id);
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

  private async issue(
    manager: EntityManager,
    purchase_id: string,
    report: PurchaseReport,
    state: PurchaseState,
  ): Promise<string> {
    const email = canonicalEmail(report.email!)!;
    await manager.query('update purchase set paid = true, email = $2 where id = $1', [purchase_id, email]);
    return this.licenses.issueSold(manager, { email, purchase_id, refunded: state === 'refunded' });
  }
}

/** The row of a transaction, made where there is none, and locked: reports of one purchase wait for each other. */
async function lockPurchase(
  manager: EntityManager,
  { transaction_id, status }: PurchaseReport,
  now: Date,
): Promise<Purchase> {
  await manager.query(
    `insert into purchase (id, transaction_id, state, recorded_on) values ($1, $2, $3, $4)
     on conflict (transaction_id) do nothing`,
    [uuidv7(), transaction_id, status, utcDay(now)],
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
