import { hash } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { licenseStatus, type PurchaseState } from '../licenses/license.rules.js';
import { higherState } from '../purchases/purchase.rules.js';
import type { DerivedLicense, KnownPurchase } from './batch-state.js';
import { ReportCounter, type ImportReport, type RefusedRow } from './import-report.js';
import { shouldMailNewKey, licenseStates, type RowPlan } from './plan-batch.js';
import { readLicense, type ExportedLicense, type ReadOptions } from './read-license.js';
import type { SourceRow } from './source-row.js';
import { checkBatch, storeBatch, type BatchResult, type ImportParts } from './store-batch.js';

/** The number of rows that one transaction stores. */
const BATCH_ROWS = 2_000;
/**
 * The largest number of attempts to store a batch. A unique violation causes another attempt: a report of the payment processor may
 * have stored one of the transactions meanwhile.
 */
const MAX_ATTEMPTS = 5;

interface ImportOptions<Row extends SourceRow> {
  readonly read: ReadOptions;
  readonly isDryRun: boolean;
  /** Whether `--only` selects the row, such as by a product of the shop; other rows are skipped. */
  readonly isSelected: (row: Row) => boolean;
  readonly onRefused: (row: Row, refused: RefusedRow) => Promise<void>;
}

/**
 * Imports the rows of an export, in batches of one transaction each. A row that is imported already is never imported again: the id
 * of its license is derived from its previous key. So an import that was interrupted is continued by starting it again
 * (docs/decisions/0048).
 */
export async function importExport<Row extends SourceRow>(
  dataSource: DataSource,
  rows: AsyncIterable<Row>,
  parts: ImportParts,
  options: ImportOptions<Row>,
): Promise<ImportReport> {
  const importer = new Importer(dataSource, parts, options);
  for await (const row of rows) await importer.add(row);
  return importer.finish();
}

/** A license that waits for its batch, with the row that it was read from. */
interface Waiting<Row> {
  readonly row: Row;
  readonly license: DerivedLicense;
  /** Whether an earlier batch of this import has a row of the same license. */
  readonly isLater: boolean;
}

/** The first row of a previous key. */
interface SeenRow {
  readonly place: string;
  /** The MD5 of its address and transaction, with which later rows of the key are compared. */
  readonly digest: string;
  /** The highest state of its purchase in the rows of the key so far. */
  state: PurchaseState;
}

class Importer<Row extends SourceRow> {
  readonly #counter = new ReportCounter();
  /** The first row of each previous key, by the id of the license, which is derived from the key. */
  readonly #seen = new Map<string, SeenRow>();
  #waiting: Waiting<Row>[] = [];
  /** In a dry run, the purchases as the batches so far would have stored them, by transaction id. */
  readonly #changedPurchases = new Map<string, KnownPurchase>();

  constructor(
    private readonly dataSource: DataSource,
    private readonly parts: ImportParts,
    private readonly options: ImportOptions<Row>,
  ) {}

  async add(row: Row): Promise<void> {
    this.#counter.count('rows');
    if (row.fault !== undefined) return this.#refuse(row, row.fault);
    if (!this.options.isSelected(row)) return this.#counter.skip('not selected by --only');
    const read = readLicense(row, this.options.read);
    if ('skip' in read) return this.#counter.skip(read.skip);
    if ('refusal' in read) return this.#refuse(row, read.refusal);
    const license = this.#derive(row.place, read.license);
    const earlier = this.#earlierRow(license);
    if (earlier && !earlier.isEqual)
      return this.#refuse(
        row,
        `this key is already in ${earlier.place}, with another address or transaction`,
      );
    if (earlier && !earlier.isRaised) return this.#counter.count('repeated');
    // If a later export was appended to the file, a refund may be only in the later row. So this row replaces the earlier one, if
    // the earlier one still waits for its batch.
    const waiting = earlier ? this.#waiting.findIndex((each) => each.license.id === license.id) : -1;
    if (waiting >= 0) {
      this.#waiting[waiting] = { ...this.#waiting[waiting]!, row, license };
      return this.#counter.count('repeated');
    }
    // Without a transaction no purchase is stored, so there is no state that a later row could raise.
    if (earlier && license.transaction_id === null)
      return this.#refuse(
        row,
        `this key is already in ${earlier.place}, with another status of its refund or dispute: if that row was imported, change the status of the license`,
      );
    if (this.#waiting.push({ row, license, isLater: earlier !== undefined }) === BATCH_ROWS)
      await this.#store();
  }

  async finish(): Promise<ImportReport> {
    await this.#store();
    return this.#counter.report(this.options.isDryRun);
  }

  #derive(place: string, license: ExportedLicense): DerivedLicense {
    const { keys } = this.parts;
    return {
      ...license,
      place,
      id: keys.importedLicenseId(license.previous_key),
      previous_key_hash: keys.hashPrevious(license.previous_key),
      purchase_id:
        license.transaction_id === null ? null : keys.purchaseIds(license.transaction_id).purchase_id,
    };
  }

  /**
   * Remembers the first row of each key. @returns undefined for it. For a later row: the place of the first one, whether both
   * have the same address and transaction, and whether the later one has a higher state of the purchase
   */
  #earlierRow({
    place,
    id,
    email,
    transaction_id,
    purchase_state,
  }: DerivedLicense): { place: string; isEqual: boolean; isRaised: boolean } | undefined {
    const digest = hash('md5', `${email}\n${transaction_id ?? ''}`, 'base64');
    const earlier = this.#seen.get(id);
    if (!earlier) {
      this.#seen.set(id, { place, digest, state: purchase_state });
      return undefined;
    }
    const isEqual = earlier.digest === digest;
    const state = isEqual ? higherState(earlier.state, purchase_state) : earlier.state;
    const isRaised = state !== earlier.state;
    earlier.state = state;
    return { place: earlier.place, isEqual, isRaised };
  }

  async #refuse(row: Row, reason: string): Promise<void> {
    const refused = { place: row.place, reason };
    this.#counter.refuse(refused);
    await this.options.onRefused(row, refused);
  }

  async #store(): Promise<void> {
    const batch = this.#waiting;
    if (batch.length === 0) return;
    this.#waiting = [];
    const { rows, raisedPurchases } = await this.#storeRows(batch.map(({ license }) => license));
    this.#counter.raisePurchases(raisedPurchases);
    for (const [i, plan] of rows.entries()) await this.#count(batch[i]!, plan);
  }

  async #storeRows(licenses: readonly DerivedLicense[], attempt = 1): Promise<BatchResult> {
    if (this.options.isDryRun)
      return checkBatch(this.dataSource.manager, licenses, this.parts, this.#changedPurchases);
    try {
      return await this.dataSource.transaction((manager) => storeBatch(manager, licenses, this.parts));
    } catch (error) {
      if ((error as { code?: string }).code !== UNIQUE_VIOLATION || attempt === MAX_ATTEMPTS) throw error;
      return this.#storeRows(licenses, attempt + 1);
    }
  }

  async #count({ row, isLater }: Waiting<Row>, plan: RowPlan): Promise<void> {
    if (plan.outcome === 'refused') return this.#refuse(row, plan.refusal);
    if (plan.license.read.isRefundUnknown) this.#counter.count('refund_unknown');
    // A dry run does not store the earlier row, so the later one would count as another license.
    if (plan.outcome === 'known' || (this.options.isDryRun && isLater))
      return this.#counter.count('already_imported');
    if (plan.outcome === 'linked') return this.#counter.count('linked');
    this.#counter.import(licenseStatus(licenseStates(plan.license)), plan.license.read);
    if (this.parts.mails && shouldMailNewKey(plan.license, this.parts.now)) this.#counter.count('mails');
  }
}

/** The SQLSTATE of a statement that violates a unique index. */
const UNIQUE_VIOLATION = '23505';
