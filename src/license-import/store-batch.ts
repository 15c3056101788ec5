import type { EntityManager } from 'typeorm';
import { recordAudit, type AuditContext } from '../audit/audit.js';
import { utcDay } from '../core/clock.js';
import { execute, valuesByColumn } from '../database/sql.js';
import type { LicenseKeys } from '../keys/license-keys.js';
import { previousKeyHint } from '../keys/previous-key-text.js';
import { endedAt } from '../licenses/license.rules.js';
import { endRefundedLicense } from '../releases/release.service.js';
import { readBatchState, type BatchState, type DerivedLicense, type KnownPurchase } from './batch-state.js';
import type { KeyMailSchedule } from './key-mails.js';
import {
  shouldMailNewKey,
  licenseStates,
  planPurchases,
  planRows,
  purchasesAfter,
  withPurchaseStates,
  type PlannedPurchase,
  type RowPlan,
} from './plan-batch.js';

// The file is long, because the dry run and the import must decide in the same way.

/** What all batches of an import share. */
export interface ImportParts {
  readonly keys: LicenseKeys;
  readonly audit: AuditContext;
  readonly now: Date;
  /** Undefined if no mail is sent. */
  readonly mails: KeyMailSchedule | undefined;
  /** What TOMBSTONE_FILE records, see `ErasureService`. */
  readonly erasures: {
    wasErased(...ids: string[]): Promise<boolean>;
    wasErasedFor(email: string, purchaseId: string): Promise<boolean>;
  };
}

/** The result of a batch. */
export interface BatchResult {
  readonly rows: readonly RowPlan[];
  /** The number of purchases whose state the file raised, such as to `refunded`. */
  readonly raisedPurchases: number;
}

/**
 * Decides about the rows of a batch, and writes nothing.
 * @param changed the purchases as the earlier batches of the dry run would have stored them, by transaction id; those of this batch
 * are added
 */
export async function checkBatch(
  manager: EntityManager,
  licenses: readonly DerivedLicense[],
  parts: ImportParts,
  changed: Map<string, KnownPurchase>,
): Promise<BatchResult> {
  const { known, purchases: stored } = await readBatchState(manager, licenses, false);
  const changedBefore = licenses.flatMap(({ transaction_id }) => changed.get(transaction_id ?? '') ?? []);
  const before = new Map([
    ...stored,
    ...changedBefore.map((purchase) => [purchase.transaction_id, purchase] as const),
  ]);
  const { rows, purchases } = await plan(licenses, { known, purchases: before }, parts);
  for (const [transactionId, purchase] of purchasesAfter(rows, purchases))
    changed.set(transactionId, purchase);
  return { rows, raisedPurchases: purchases.filter(isRaised).length };
}

/** Writes the rows of a batch in the caller's transaction: purchases, licenses, the mails with the new keys, and an audit event. */
export async function storeBatch(
  manager: EntityManager,
  licenses: readonly DerivedLicense[],
  parts: ImportParts,
): Promise<BatchResult> {
  // Only one batch is stored at a time, also if several imports run: two batches with the same keys in another order would
  // deadlock. This lock does not block requests.
  await execute(manager, 'lock table license in share update exclusive mode');
  const { rows, purchases } = await plan(licenses, await readBatchState(manager, licenses, true), parts);
  await writePurchases(manager, purchases, parts.now);
  const linked = rows.flatMap((row) => (row.outcome === 'linked' ? row : []));
  for (const { licenseId, license } of linked)
    await execute(manager, LINK_PREVIOUS_KEY, [licenseId, ...previousKeyColumns(license)]);
  const added = rows.flatMap((row) => (row.outcome === 'new' ? row.license : []));
  const mailed = parts.mails
    ? added.filter((license) => shouldMailNewKey(license, parts.now)).map(({ id }) => id)
    : [];
  await insertLicenses(manager, added, new Set(mailed), purchases, parts);
  for (const { before, state } of purchases) {
    if (state !== 'refunded' || before?.state === 'refunded') continue;
    for (const { id } of before?.licenses ?? []) await endRefundedLicense(manager, id, parts.now);
  }
  await parts.mails?.enqueue(manager, mailed);
  const raisedPurchases = purchases.filter(isRaised).length;
  const change = {
    licenses: added.length,
    linked: linked.length,
    raised_purchases: raisedPurchases,
    mails: mailed.length,
  };
  if (added.length + linked.length + raisedPurchases > 0)
    await recordAudit(manager, parts.audit, { action: 'license.import', change, at: parts.now });
  return { rows, raisedPurchases };
}

/** Whether the row of a purchase in the database is changed. */
const isChanged = ({ before, state, email }: PlannedPurchase) =>
  before !== undefined && (before.state !== state || (!before.paid && email !== null));
const isRaised = ({ before, state }: PlannedPurchase) => before !== undefined && before.state !== state;

/** Whether an erasure of TOMBSTONE_FILE concerns the license or its holder. */
async function wasErased(
  { id, email, transaction_id }: DerivedLicense,
  { keys, erasures }: ImportParts,
): Promise<boolean> {
  if (transaction_id === null) return erasures.wasErased(id);
  const sale = keys.purchaseIds(transaction_id);
  // The row may have been linked to the license that a report of the sale issued. TOMBSTONE_FILE then has the id of that license.
  return (await erasures.wasErased(id, sale.license_id)) || erasures.wasErasedFor(email, sale.purchase_id);
}

async function plan(
  licenses: readonly DerivedLicense[],
  state: BatchState,
  parts: ImportParts,
): Promise<{ rows: RowPlan[]; purchases: PlannedPurchase[] }> {
  const erased = new Set<string>();
  for (const license of licenses) if (await wasErased(license, parts)) erased.add(license.id);
  const rows = planRows(licenses, state, erased);
  const purchases = planPurchases(rows, state);
  return { rows: withPurchaseStates(rows, purchases), purchases };
}

const previousKeyColumns = ({ previous_key_hash, previous_key }: DerivedLicense) => [
  previous_key_hash,
  previousKeyHint(previous_key),
];

// The new key was mailed when the report of the sale issued the license.
const LINK_PREVIOUS_KEY = `
  update license set previous_key_hash = $2, previous_key_hint = $3,
    new_key_mailed_at = coalesce(new_key_mailed_at, created_at) where id = $1`;
// A report of the processor may insert the same purchase meanwhile: then the statement fails on its transaction id, and the batch
// is rolled back and repeated (`importExport`).
const INSERT_PURCHASES = `
  insert into purchase (id, transaction_id, email, state, recorded_on, paid)
  select *, $5::date, true from unnest($1::uuid[], $2::text[], $3::text[], $4::text[])`;
const RAISE_PURCHASES = `
  update purchase p set state = given.state, paid = p.paid or given.email is not null,
    email = case when p.paid then p.email else coalesce(given.email, p.email) end
  from unnest($1::uuid[], $2::text[], $3::text[]) as given (id, email, state) where p.id = given.id`;

async function writePurchases(
  manager: EntityManager,
  purchases: readonly PlannedPurchase[],
  now: Date,
): Promise<void> {
  const [added, changed] = [purchases.filter(({ before }) => !before), purchases.filter(isChanged)];
  const addedColumns = valuesByColumn(added, ['id', 'transaction_id', 'email', 'state']);
  if (added.length > 0) await execute(manager, INSERT_PURCHASES, [...addedColumns, utcDay(now)]);
  if (changed.length > 0)
    await execute(manager, RAISE_PURCHASES, valuesByColumn(changed, ['id', 'email', 'state']));
}

const INSERTED_COLUMNS = [
  ['id', 'uuid'],
  ['key_hash', 'bytea'],
  ['key_hint', 'text'],
  ['email', 'text'],
  ['email_since', 'timestamptz'],
  ['staff_status', 'text'],
  ['machines_allowed', 'integer'],
  ['expires_at', 'timestamptz'],
  ['on_expiry', 'text'],
  ['purchase_id', 'uuid'],
  ['created_at', 'timestamptz'],
  ['ended_at', 'timestamptz'],
  ['previous_key_hash', 'bytea'],
  ['previous_key_hint', 'text'],
  ['new_key_mailed_at', 'timestamptz'],
] as const;
const INSERT_LICENSES = `
  insert into license (${INSERTED_COLUMNS.map(([name]) => name).join(', ')}, end_changed_at)
  select *, $${INSERTED_COLUMNS.length + 1}::timestamptz
  from unnest(${INSERTED_COLUMNS.map(([, type], i) => `$${i + 1}::${type}[]`).join(', ')})`;

async function insertLicenses(
  manager: EntityManager,
  licenses: readonly DerivedLicense[],
  mailed: ReadonlySet<string>,
  purchases: readonly PlannedPurchase[],
  { keys, now }: ImportParts,
): Promise<void> {
  if (licenses.length === 0) return;
  const purchaseIds = new Map(purchases.map(({ transaction_id, id }) => [transaction_id, id]));
  const rows = licenses.map((license) => {
    const { id, email, machines_allowed, expires_at, on_expiry, transaction_id } = license;
    const { key_hash, key_hint } = keys.derive(id, 1);
    const states = licenseStates(license);
    const [previous_key_hash, previous_key_hint] = previousKeyColumns(license);
    return {
      id, key_hash, key_hint, email, machines_allowed, expires_at, on_expiry, previous_key_hash, previous_key_hint,
      staff_status: states.staff_status,
      purchase_id: purchaseIds.get(transaction_id ?? '') ?? null,
      created_at: license.purchased_at ?? now,
      // `created_at` may be years ago. Without `email_since`, the repetition of an erasure of this address that ran before this
      // import would clear the address (`clearErasedAddress`). The time is 1 ms before the events of the import, so that they
      // belong to this holder (`sinceCurrentHolder`).
      email_since: new Date(now.getTime() - 1),
      ended_at: endedAt({ ...states, email, ended_at: null }, now),
      new_key_mailed_at: mailed.has(id) ? now : null,
    }; // prettier-ignore
  });
  const values = INSERTED_COLUMNS.map(([name]) => rows.map((row) => row[name]));
  await execute(manager, INSERT_LICENSES, [...values, now]);
}
