import type { EntityManager } from 'typeorm';
import { queryRows } from '../database/sql.js';
import type { LicenseState, PurchaseState } from '../licenses/license.rules.js';
import type { ExportedLicense } from './read-license.js';

/** A license of an export, with all that is derived from its previous key and its transaction. */
export interface DerivedLicense extends ExportedLicense {
  /** Where the license is in the file, as in `SourceRow`. */
  readonly place: string;
  readonly id: string;
  readonly previous_key_hash: Buffer;
  /** The id of the purchase; null without a transaction. */
  readonly purchase_id: string | null;
}

/**
 * A license that an earlier import or batch created from a row, or a linked license: a purchase report issued it, and it got the
 * previous key of a row.
 */
export interface KnownLicense extends Pick<LicenseState, 'staff_status' | 'purchase_state'> {
  readonly purchase_id: string | null;
  /** Whether it was ended by its status or by the erasure of its holder. */
  readonly has_ended: boolean;
}

/** A license of a known purchase. */
interface LicenseOfPurchase {
  readonly id: string;
  readonly purchase_id: string;
  readonly email: string | null;
  readonly is_erased: boolean;
  /** `planRows` sets it for a license to which it links a row, so that it links no second row to this license. */
  has_previous_key: boolean;
}

/** A purchase as it is stored or, in a dry run, as an earlier batch would have stored it. */
export interface KnownPurchase {
  readonly id: string;
  readonly transaction_id: string;
  readonly state: PurchaseState;
  /** Whether it was ever reported as paid, also if it was disputed or refunded later. */
  readonly paid: boolean;
  readonly licenses: readonly LicenseOfPurchase[];
}

/** What the database has of the licenses of a batch. */
export interface BatchState {
  /**
   * The known licenses by id, and also by the hex digits of the hash of the previous key: a linked license has another id than the
   * row, and an erased license has no hash.
   */
  readonly known: ReadonlyMap<string, KnownLicense>;
  /** By transaction id. */
  readonly purchases: ReadonlyMap<string, KnownPurchase>;
}

const SELECT_KNOWN = `
  select found.by, l.purchase_id, l.staff_status, p.state as purchase_state, l.ended_at is not null as has_ended
  from (select id, id::text as by from license where id = any($1)
    union all select id, encode(previous_key_hash, 'hex') from license
    where previous_key_hash is not null and previous_key_hash in (select unnest($2::bytea[]))) found
  join license l on l.id = found.id left join purchase p on p.id = l.purchase_id`;
const SELECT_PURCHASES =
  'select id, transaction_id, state, paid from purchase where transaction_id = any($1) order by id';
const SELECT_LICENSES = `
  select id, purchase_id, email, email is null and address_lost_at is null as is_erased,
    previous_key_hash is not null as has_previous_key
  from license where purchase_id = any($1) order by created_at, id`;

/**
 * Reads what the database has of the licenses of a batch.
 * @param isLocked whether the purchases are locked until the end of the transaction. A purchase report also locks its purchase
 *   before licenses, so the two cannot deadlock.
 */
export async function readBatchState(
  manager: EntityManager,
  licenses: readonly DerivedLicense[],
  isLocked: boolean,
): Promise<BatchState> {
  const transactions = [...new Set(licenses.flatMap(({ transaction_id }) => transaction_id ?? []))];
  const lock = isLocked ? ' for update' : '';
  const purchases = await queryRows<Omit<KnownPurchase, 'licenses'>>(manager, SELECT_PURCHASES + lock, [
    transactions,
  ]);
  const purchaseIds = purchases.map(({ id }) => id);
  const ofPurchases = await queryRows<LicenseOfPurchase>(manager, SELECT_LICENSES, [purchaseIds]);
  const known = await queryRows<KnownLicense & { by: string }>(manager, SELECT_KNOWN, [
    licenses.map(({ id }) => id),
    licenses.map(({ previous_key_hash }) => previous_key_hash),
  ]);
  const byPurchase = Map.groupBy(ofPurchases, ({ purchase_id }) => purchase_id);
  return {
    known: new Map(known.map((license) => [license.by, license])),
    purchases: new Map(
      purchases.map((purchase) => [
        purchase.transaction_id,
        { ...purchase, licenses: byPurchase.get(purchase.id) ?? [] },
      ]),
    ),
  };
}
