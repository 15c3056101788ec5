import { licenseStatus, type LicenseState, type PurchaseState } from '../licenses/license.rules.js';
import { higherState } from '../purchases/purchase.rules.js';
import type { BatchState, DerivedLicense, KnownLicense, KnownPurchase } from './batch-state.js';
import type { ExportedLicense } from './read-license.js';

/** What becomes of a row: a new license, an existing license that gets its previous key, nothing for a known one, or a refusal. */
export type RowPlan =
  | { readonly outcome: 'new'; readonly license: DerivedLicense }
  | { readonly outcome: 'linked'; readonly license: DerivedLicense; readonly licenseId: string }
  | { readonly outcome: 'known'; readonly license: DerivedLicense; readonly purchaseId: string | null }
  | { readonly outcome: 'refused'; readonly license: DerivedLicense; readonly refusal: string };

/** A purchase of the batch, as it is after the batch. */
export interface PlannedPurchase {
  readonly id: string;
  readonly transaction_id: string;
  /** The buyer, of the first row that is imported; null if all rows are known, which change only the state of a purchase. */
  readonly email: string | null;
  readonly state: PurchaseState;
  /** The purchase before the batch; undefined if it is new. */
  readonly before: KnownPurchase | undefined;
}

const ERASED = 'the holder of this license was erased, so it is not imported again';
const NOT_REACHED =
  'this license is imported already, and the refund or dispute of this row does not change it: set its status';

/** Decides what becomes of each row of a batch. @param erasedIds the ids of the licenses that TOMBSTONE_FILE excludes */
export function planRows(
  licenses: readonly DerivedLicense[],
  { known, purchases }: BatchState,
  erasedIds: ReadonlySet<string>,
): RowPlan[] {
  return licenses.map((license): RowPlan => {
    const purchase = purchases.get(license.transaction_id ?? '');
    const imported = known.get(license.id) ?? known.get(license.previous_key_hash.toString('hex'));
    if (imported) return planOfKnownLicense(license, imported, purchase);
    if (erasedIds.has(license.id)) return { outcome: 'refused', license, refusal: ERASED };
    return (purchase && planOfSoldLicense(license, purchase)) ?? { outcome: 'new', license };
  });
}

/**
 * Decides about a row whose license is known. The row can end or suspend the license only through the purchase of its transaction.
 * The license may have no purchase or another one. For example, another shop used the same transaction id, so the row was refused,
 * and the operator emptied its transaction and imported it again (docs/operations/license-import.md). Then staff must end or
 * suspend the license, and a row with a refund or dispute is refused until they have.
 */
function planOfKnownLicense(
  license: DerivedLicense,
  known: KnownLicense,
  purchase: KnownPurchase | undefined,
): RowPlan {
  const { purchase_state } = license;
  const isSuspending = purchase_state === 'disputed' && licenseStatus(known) === 'active';
  const isStopping = !known.has_ended && (purchase_state === 'refunded' || isSuspending);
  if (isStopping && known.purchase_id !== purchase?.id)
    return { outcome: 'refused', license, refusal: NOT_REACHED };
  return { outcome: 'known', license, purchaseId: known.purchase_id };
}

/**
 * Decides about a row whose transaction is in the database. The transaction may have two kinds of licenses:
 * - one without a previous key, which a report of the processor issued for the same sale. Its buyer has its new key, and the row is
 *   linked to it: it gets the previous key of the row;
 * - those with a previous key, which were imported from other rows of the transaction. The row is then a further license.
 *
 * The row is refused if the license without a previous key has another address, or, without such a license, if all licenses have
 * other addresses: the transaction may be one of another shop, whose refund must not end the license of the row.
 * @returns undefined if the row is a new license of the transaction
 */
function planOfSoldLicense(license: DerivedLicense, { paid, licenses }: KnownPurchase): RowPlan | undefined {
  const refused = (refusal: string): RowPlan => ({ outcome: 'refused', license, refusal });
  // A person who has another license of the transaction was not erased.
  const isHolder = licenses.some(({ email }) => email === license.email);
  if (!isHolder && licenses.some(({ is_erased }) => is_erased)) return refused(ERASED);
  if (paid && licenses.length === 0)
    return refused('the license of this transaction was erased, or deleted after its retention period');
  const sold = licenses.find(({ has_previous_key, is_erased }) => !has_previous_key && !is_erased);
  if (!sold && (licenses.length === 0 || isHolder)) return undefined;
  if (sold?.email !== license.email)
    return refused('a license of this transaction exists already, for another address');
  // This row gives the license its previous key, so no second row of the batch is linked to the license.
  sold.has_previous_key = true;
  return { outcome: 'linked', license, licenseId: sold.id };
}

/** Whether the new key of an imported license is mailed: only if a machine could be activated with it. */
export function shouldMailNewKey(license: ExportedLicense, now: Date): boolean {
  const { on_expiry, expires_at } = license;
  const hasEnded = on_expiry === 'stop' && expires_at !== null && expires_at <= now;
  return licenseStatus(licenseStates(license)) === 'active' && !hasEnded;
}

/**
 * The states of a license. Without a transaction, no purchase is stored that could have a state, so the license gets a staff status
 * with the same effect.
 */
export function licenseStates({
  transaction_id,
  staff_status,
  purchase_state,
}: ExportedLicense): Pick<LicenseState, 'staff_status' | 'purchase_state'> {
  if (transaction_id !== null) return { staff_status, purchase_state };
  if (purchase_state === 'refunded') return { staff_status: 'revoked', purchase_state: null };
  const isSuspended = purchase_state === 'disputed' && staff_status === 'active';
  return { staff_status: isSuspended ? 'suspended' : staff_status, purchase_state: null };
}

/**
 * Returns the purchases of a batch, one for each transaction, in the order in which they are locked. The highest state
 * counts. A row that is known can raise the state of its own purchase: an export of a later day may have a refund.
 */
export function planPurchases(rows: readonly RowPlan[], { purchases }: BatchState): PlannedPurchase[] {
  const changes = new Map<string, PlannedPurchase>();
  for (const row of rows) {
    const { outcome, license } = row;
    const { transaction_id, purchase_id, email, purchase_state } = license;
    if (outcome === 'refused' || transaction_id === null || purchase_id === null) continue;
    const before = purchases.get(transaction_id);
    // Retention may have deleted the purchase of a known license, and the stored one may be the order of another shop.
    if (outcome === 'known' && row.purchaseId !== before?.id) continue;
    const earlier = changes.get(transaction_id);
    const state = higherState(earlier?.state ?? before?.state ?? 'paid', purchase_state);
    changes.set(transaction_id, {
      id: before?.id ?? purchase_id,
      transaction_id,
      email: earlier?.email ?? (outcome === 'known' ? null : email),
      state,
      before,
    });
  }
  return [...changes.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/** Gives each license the state of its purchase after the batch, which another row or a report may have raised. */
export function withPurchaseStates(
  rows: readonly RowPlan[],
  purchases: readonly PlannedPurchase[],
): RowPlan[] {
  const states = new Map(purchases.map(({ transaction_id, state }) => [transaction_id, state]));
  return rows.map((row) => {
    const purchase_state = states.get(row.license.transaction_id ?? '') ?? row.license.purchase_state;
    return { ...row, license: { ...row.license, purchase_state } };
  });
}

/** Returns purchases as they are after the batch, by transaction id. */
export function purchasesAfter(
  rows: readonly RowPlan[],
  purchases: readonly PlannedPurchase[],
): Map<string, KnownPurchase> {
  const added = rows.flatMap((row) => (row.outcome === 'new' ? row.license : []));
  const addedByTransaction = Map.groupBy(added, ({ transaction_id }) => transaction_id);
  return new Map(
    purchases.map(({ id, transaction_id, email, state, before }) => {
      const imported = (addedByTransaction.get(transaction_id) ?? []).map((license) => ({
        id: license.id,
        purchase_id: id,
        email: license.email,
        is_erased: false,
        has_previous_key: true,
      }));
      const licenses = [...(before?.licenses ?? []), ...imported];
      return [transaction_id, { id, transaction_id, state, paid: before?.paid || email !== null, licenses }];
    }),
  );
}
