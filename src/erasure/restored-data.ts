import { EntityManager } from 'typeorm';
import { execute, queryIds, queryRows } from '../database/sql.js';
import { deleteAddressData, erasePersonalData, licenseAddressSince, type RowIds } from './erase.js';
import { blocksById, isAboutAddress, toRequestIds, type ErasedIds } from './erased-ids.js';

/**
 * Removes erased personal data that a restored backup contains again. A license that got its address after the erasure is not
 * changed, and neither is a purchase that got another address after it; a purchase with the erased address always loses it. If the
 * tombstone file names a purchase but not its license, the license had another holder when the erasure ran. If the backup gives
 * this license the erased address of the purchase again, the address is removed, and the license stays valid.
 */
export async function reapplyErasures(
  manager: EntityManager,
  erased: readonly ErasedIds[],
  hash: (email: string) => string,
  isKnown: (block: ErasedIds) => boolean,
  at: Date,
  taxRetentionYears: number,
): Promise<void> {
  const purchases = await lockRestoredPurchases(manager, erased, hash, isKnown, at);
  const erasedLicenses = erased.flatMap((block) => block.license.map((id) => ({ id, at: block.at ?? null })));
  const licenses = await queryRows<RestoredRow>(
    manager,
    `select l.id, l.email from unnest($1::uuid[], $2::timestamptz[]) as erased (id, at) join license l on l.id = erased.id
     where coalesce(${licenseAddressSince('$3')} <= erased.at, true) and (l.email is not null or exists
       (select 1 from activation where license_id = l.id and (machine_id is not null or hostname_hint is not null)))
     for update of l`,
    [erasedLicenses.map(toId), erasedLicenses.map((license) => license.at), at],
  );
  const restored = { licenses: [...new Set(licenses.map(toId))], purchases: purchases.map(toId) };
  const licensesOfOthers = await queryIds(
    manager,
    `select l.id from license l join purchase p on p.id = l.purchase_id
     where p.id = any($1) and l.email = p.email and l.id <> all($2) for update of l`,
    [restored.purchases, restored.licenses],
  );
  await removeLicenseAddresses(manager, licensesOfOthers, at);
  await erasePersonalData(manager, restored, at, taxRetentionYears);
  await deleteAddressData(
    manager,
    [...purchases, ...licenses].flatMap(({ email }) => email ?? []),
  );
}

/**
 * Locks the purchases that contain erased personal data again: the erased address, or another address that is older than the
 * erasure, because that may be an earlier address of the erased person. Two things show that another address is newer: this
 * database knows the erasure (`isKnown`), which had emptied the row, so the address was written afterwards; or a license of the
 * purchase got the address after the erasure. A newer address belongs to another holder. A license import may store one: if the
 * tombstone file names only the purchase, the import refuses only the erased address (`ErasureService.wasErasedFor`).
 */
async function lockRestoredPurchases(
  manager: EntityManager,
  erased: readonly ErasedIds[],
  hash: (email: string) => string,
  isKnown: (block: ErasedIds) => boolean,
  now: Date,
): Promise<RestoredRow[]> {
  const blocks = blocksById(erased, ({ purchase }) => purchase);
  const purchases = await queryRows<RestoredRow & { email: string; license_since: Date | null }>(
    manager,
    `select id, email, (select max(${licenseAddressSince('$2')}) from license l
       where l.purchase_id = p.id and l.email = p.email) as license_since
     from purchase p where id = any($1) and email is not null for update`,
    [[...blocks.keys()], now],
  );
  return purchases.filter(({ id, email, license_since }) => {
    // A block without a time does not show that the license got the address later.
    const isLater = ({ at }: ErasedIds) => at && license_since && license_since > at;
    return blocks
      .get(id)!
      .some((block) => isAboutAddress(block, hash(email)) || !(isKnown(block) || isLater(block)));
  });
}

/** Finds the erasures that this database has carried out or repeated. @returns a function: whether a block is of such an erasure */
export async function findKnownErasures(
  manager: EntityManager,
  erased: readonly ErasedIds[],
): Promise<(block: ErasedIds) => boolean> {
  const known = await queryIds(
    manager,
    `select id from erasure_request where id = any($1) and honoured_at is not null
     union select erasure_request_id from repeated_erasure where erasure_request_id = any($1)`,
    [toRequestIds(erased)],
  );
  const knownIds = new Set(known);
  return ({ erasure_request }) => erasure_request.some((id) => knownIds.has(id));
}

/** Leaves out the licenses and purchases that `reapplyErasures` did not erase, because they belong to another holder now. */
export async function excludeReassigned(
  manager: EntityManager,
  { licenses, purchases }: RowIds,
): Promise<RowIds> {
  const licenseSql =
    'select id from license where id = any($1) and email is null and address_lost_at is null';
  const purchaseSql = 'select id from purchase where id = any($1) and email is null';
  return {
    licenses: await queryIds(manager, licenseSql, [licenses]),
    purchases: await queryIds(manager, purchaseSql, [purchases]),
  };
}

const toId = ({ id }: { id: string }) => id;

/** A license or purchase of a restored backup that contains personal data which was erased. */
interface RestoredRow {
  readonly id: string;
  readonly email: string | null;
}

/**
 * Removes the address from licenses that stay valid: the backup contains the address of a former holder who was erased,
 * and the present holder is unknown. Staff set the address again.
 */
export async function removeLicenseAddresses(
  manager: EntityManager,
  licenses: readonly string[],
  at: Date,
): Promise<void> {
  await execute(manager, 'update license set email = null, address_lost_at = $2 where id = any($1)', [
    licenses,
    at,
  ]);
  // An active activation keeps its machine id and loses its label, because the former holder may have typed the label.
  await execute(
    manager,
    `update activation set hostname_hint = null, machine_id = case when ended_at is null then machine_id end
     where license_id = any($1)`,
    [licenses],
  );
  await execute(
    manager,
    'delete from release_request where activation_id in (select id from activation where license_id = any($1))',
    [licenses],
  );
  await execute(manager, 'delete from session where license_id = any($1)', [licenses]);
}
