import { EntityManager } from 'typeorm';
import { DAY_MS } from '../core/clock.js';
import { execute, queryIds, queryRows } from '../database/sql.js';
import { deleteAddressData, licenseAddressSince, timeOfReturn } from './erase.js';
import { toRequestIds, type ErasedIds } from './erased-ids.js';
import { removeLicenseAddresses } from './restored-data.js';

/** The number of addresses that one query reads. */
const ADDRESS_BATCH_ROWS = 10_000;
/**
 * The age up to which the address of an erasure is searched for. It is far above that of any backup (30 days), and below the 12
 * months after which retention deletes the request of an erasure, and with it the sign that this database has processed it.
 */
const MAX_SEARCHED_AGE_DAYS = 300;
const TABLES_WITH_ADDRESSES = [
  'license',
  'purchase',
  'session',
  'one_time_code',
  'mail_recipient',
  'erasure_request',
] as const;

/** An erased address that a restored backup contains, and the time of its erasure. */
interface ErasedAddress {
  readonly email: string;
  readonly at: Date;
}

/**
 * Finds the addresses that a restored database contains although they were erased: the backup is older than the erasure, so in
 * this database the request is missing or not carried out. An address is recognized by its keyed hash. A database is searched
 * once for the address of an erasure. The id of the erasure request is then recorded in `repeated_erasure`, also if nothing was
 * found, so that a customer who returns later is not erased.
 * @param hash returns the keyed hash of an address @param isKnown the result of `findKnownErasures`
 */
export async function findErasedAddresses(
  manager: EntityManager,
  erased: readonly ErasedIds[],
  hash: (email: string) => string,
  isKnown: (block: ErasedIds) => boolean,
  now: Date,
): Promise<ErasedAddress[]> {
  const searchedSince = new Date(now.getTime() - MAX_SEARCHED_AGE_DAYS * DAY_MS);
  const unknownErasures = erased.filter(
    (block) => block.address && block.at && block.at > searchedSince && !isKnown(block),
  );
  if (unknownErasures.length === 0) return [];
  // The time of the last erasure of each address, by the keyed hash of the address (`ErasedIds.address`).
  const erasedAt = new Map<string, Date>();
  for (const { address, at } of unknownErasures) {
    const latest = erasedAt.get(address!);
    if (!latest || latest < at!) erasedAt.set(address!, at!);
  }
  const found = new Map<string, Date>();
  for (const table of TABLES_WITH_ADDRESSES)
    for await (const email of readAddresses(manager, table)) {
      const at = erasedAt.get(hash(email));
      if (at) found.set(email, at);
    }
  await execute(
    manager,
    `insert into repeated_erasure (erasure_request_id, repeated_at)
     select id, $2 from unnest($1::uuid[]) id on conflict do nothing`,
    [toRequestIds(unknownErasures), now],
  );
  return [...found].map(([email, at]) => ({ email, at }));
}

/**
 * Removes a restored address from the licenses and purchases whose ids are not in TOMBSTONE_FILE (`reapplyErasures` has processed
 * those in the file), and deletes the codes, sessions and mail recipients of the address. A license whose id is not in the file
 * already had another holder when the erasure ran, and the backup contains its former holder. The license stays valid, and loses
 * only the address and the other data of the former holder.
 */
export async function clearErasedAddress(
  manager: EntityManager,
  { email, at }: ErasedAddress,
  now: Date,
): Promise<void> {
  // A license that got the address later belongs to a customer who returned after the erasure.
  const licenses = await queryIds(
    manager,
    `select id from license l where email = $1 and ${licenseAddressSince('$3')} < $2 for update`,
    [email, at, now],
  );
  await removeLicenseAddresses(manager, licenses, now);
  await execute(
    manager,
    `update purchase set email = null where email = $1 and ${timeOfReturn('recorded_on', '$3')} < $2::timestamptz::date`,
    [email, at, now],
  );
  await deleteAddressData(manager, [email], at, now);
}

/** Yields each address of a table once. The addresses are read in batches. */
async function* readAddresses(manager: EntityManager, table: string): AsyncGenerator<string> {
  for (let last = ''; ;) {
    const rows = await queryRows<{ email: string }>(
      manager,
      `select distinct email from ${table} where email > $1 order by email limit ${ADDRESS_BATCH_ROWS}`,
      [last],
    );
    for (const { email } of rows) yield email;
    if (rows.length < ADDRESS_BATCH_ROWS) return;
    last = rows.at(-1)!.email;
  }
}
