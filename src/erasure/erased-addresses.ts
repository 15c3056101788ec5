import { EntityManager } from 'typeorm';
import { deleteAddressData, loseAddresses } from './erase.js';
import type { ErasedIds } from './erased-ids.js';

/** Addresses that are read and hashed at a time. */
const BATCH_ROWS = 10_000;
const TABLES_WITH_ADDRESSES = [
  'license',
  'purchase',
  'session',
  'one_time_code',
  'mail_recipient',
  'erasure_request',
] as const;

/** An address that a restored backup brought back, and when it was erased. */
export interface ErasedAddress {
  readonly email: string;
  readonly at: Date;
}

/**
 * The addresses in this database that were erased by a request that it knows nothing of, recognised by their keyed hash.
 * Each erasure is looked for once: a person who comes back later is not touched.
 * @param hash gives the keyed hash of an address
 */
export async function findErasedAddresses(
  manager: EntityManager,
  erased: readonly ErasedIds[],
  hash: (email: string) => string,
  now: Date,
): Promise<ErasedAddress[]> {
  const known = (await manager.query(
    `select id from erasure_request where id = any($1) and honoured_at is not null
     union select erasure_request_id from repeated_erasure where erasure_request_id = any($1)`,
    [requestsOf(erased)],
  )) as { id: string }[];
  const isKnown = new Set(known.map(({ id }) => id));
  const unknown = erased.filter(
    ({ address, at, erasure_request }) => address && at && !erasure_request.some((id) => isKnown.has(id)),
  );
  if (unknown.length === 0) return [];
  const moments = new Map<string, Date>();
  for (const { address, at } of unknown) {
    const before = moments.get(address!);
    if (!before || before < at!) moments.set(address!, at!);
  }
  const found = new Map<string, Date>();
  for (const table of TABLES_WITH_ADDRESSES)
    for await (const email of addressesIn(manager, table)) {
      const at = moments.get(hash(email));
      if (at) found.set(email, at);
    }
  await manager.query(
    `insert into repeated_erasure (erasure_request_id, repeated_at)
     select id, $2 from unnest($1::uuid[]) id on conflict do nothing`,
    [requestsOf(unknown), now],
  );
  return [...found].map(([email, at]) => ({ email, at }));
}

/**
 * Removes an erased address wherever a restored backup brought it back and no tombstone names the row: from a license that
 * another holder had by then, which keeps running, from purchases, and from what is on its way to the address.
 * @returns how many licenses and purchases had it
 */
export async function clearErasedAddress(
  manager: EntityManager,
  { email, at }: ErasedAddress,
  now: Date,
): Promise<number> {
  // What came to the address later belongs to a person who came back.
  const licenses = (await manager.query(
    'select id from license where email = $1 and coalesce(email_since, created_at) < $2 for update',
    [email, at],
  )) as { id: string }[];
  await loseAddresses(
    manager,
    licenses.map(({ id }) => id),
    now,
  );
  const [, purchases] = (await manager.query(
    'update purchase set email = null where email = $1 and recorded_on < $2::timestamptz::date',
    [email, at],
  )) as [unknown[], number];
  await deleteAddressData(manager, [email], at);
  return licenses.length + purchases;
}

async function* addressesIn(manager: EntityManager, table: string): AsyncGenerator<string> {
  for (let last = ''; ;) {
    const rows = (await manager.query(
      `select distinct email from ${table} where email > $1 order by email limit ${BATCH_ROWS}`,
      [last],
    )) as { email: string }[];
    for (const { email } of rows) yield email;
    if (rows.length < BATCH_ROWS) return;
    last = rows.at(-1)!.email;
  }
}

const requestsOf = (erased: readonly ErasedIds[]) => erased.flatMap(({ erasure_request }) => erasure_request);
