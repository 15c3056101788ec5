import { DataSource, EntityManager } from 'typeorm';
import { LICENSE_END } from '../licenses/license-end.js';
import type { ErasedIds } from './erased-ids.js';

/** What an erasure came to; kept with the request, and told in the receipt. */
export interface Erased {
  readonly licenses: number;
  readonly activations: number;
  readonly purchases: number;
  /** The last day (`YYYY-MM-DD`) that any of the purchases is kept; null where there is none. */
  readonly purchases_kept_until: string | null;
}

/** The rows that an erasure empties. */
export interface PersonalData {
  readonly licenses: readonly string[];
  readonly purchases: readonly string[];
}

/** The purchases that an address stands behind, whichever of the two rows still names it; as SQL over $1. */
export const PURCHASES_OF =
  'select id from purchase where email = $1 union select purchase_id from license where email = $1';

/**
 * What is held of an e-mail address, locked: purchases before licenses, as a report of the processor locks them. Whoever
 * buys or activates at this moment comes before all of it, or after.
 */
export async function lockPersonalData(manager: EntityManager, email: string): Promise<PersonalData> {
  const purchases = await ids(
    manager,
    `select id from purchase where id in (${PURCHASES_OF}) order by id for update`,
    [email],
  );
  // One bought between the two statements comes after, whole: its purchase is not among those.
  const licenses = await ids(
    manager,
    `select id from license where email = $1 and (purchase_id is null or purchase_id = any($2))
     order by id for update`,
    [email, purchases],
  );
  return { licenses, purchases };
}

/**
 * Forgets who signs in by an address, and what is on its way to it: codes, and mails whose recipient no other row names.
 * @param before only what is older; null means everything
 */
export async function deleteAddressData(
  manager: EntityManager,
  emails: readonly string[],
  before: Date | null = null,
): Promise<void> {
  const values = [emails, before];
  // Codes first: whoever spends one at this moment has begun the session before, or finds no code.
  for (const table of ['one_time_code', 'session'])
    await manager.query(
      `delete from ${table} where email = any($1) and coalesce(created_at < $2, true)`,
      values,
    );
  // A receipt that is still on its way stays: nothing else tells what was erased.
  await manager.query(
    `delete from mail_recipient where email = any($1) and coalesce(since < $2, true) and not exists
       (select 1 from graphile_worker.jobs where key like 'erasure_receipt % ' || mail_id)`,
    values,
  );
}

/**
 * Ends the bindings of these licenses and empties everything that names a person, of them and of these purchases. What is
 * left is ids, states and days.
 */
export async function erasePersonalData(
  manager: EntityManager,
  { licenses, purchases }: PersonalData,
  at: Date,
  taxRetentionYears: number,
): Promise<Erased> {
  const activations = await ids(
    manager,
    `with erased as (
       update activation set machine_id = null, hostname_hint = null,
         ended_at = coalesce(ended_at, $2), ended_reason = coalesce(ended_reason, 'released')
       where license_id = any($1) returning id)
     select id from erased`,
    [licenses, at],
  );
  // After the bindings were locked: whoever asks at this moment has asked before, or finds them ended.
  await manager.query('delete from release_request where activation_id = any($1)', [activations]);
  await manager.query(
    `update license set email = null, address_lost_at = null, ended_at = coalesce(ended_at, $2),
       end_changed_at = case when ${LICENSE_END} <= $2 then end_changed_at else $2 end
     where id = any($1)`,
    [licenses, at],
  );
  // Behind the lock on the licenses, which whoever signs in by a key waits for.
  await manager.query('delete from session where license_id = any($1)', [licenses]);
  await manager.query('update purchase set email = null where id = any($1)', [purchases]);
  return {
    licenses: licenses.length,
    activations: activations.length,
    purchases: purchases.length,
    purchases_kept_until: await keptUntil(manager, purchases, taxRetentionYears),
  };
}

/** The last day (`YYYY-MM-DD`) that any of these purchases is kept; null where there is none. */
export async function keptUntil(
  database: Pick<DataSource, 'query'>,
  purchases: readonly string[],
  taxRetentionYears: number,
): Promise<string | null> {
  const [kept] = (await database.query(
    `select make_date(extract(year from max(recorded_on))::integer + $2, 12, 31)::text as until
     from purchase where id = any($1)`,
    [purchases, taxRetentionYears],
  )) as { until: string | null }[];
  return kept!.until;
}

/** The same of every purchase of an address, before its erasure. */
export async function purchasesKeptUntil(
  database: Pick<DataSource, 'query'>,
  email: string,
  taxRetentionYears: number,
): Promise<string | null> {
  const purchases = (await database.query(PURCHASES_OF, [email])) as { id: string }[];
  return keptUntil(database, purchases.map(idOf), taxRetentionYears);
}

/**
 * Empties what a restored backup brought back of what was erased before. A license that came to its address after the
 * erasure is left alone. One of an erased purchase that no tombstone names belonged to another holder by then: it loses the
 * address that came back, and keeps running. @returns how many rows had come back
 */
export async function eraseAgain(
  manager: EntityManager,
  erased: readonly ErasedIds[],
  at: Date,
  taxRetentionYears: number,
): Promise<number> {
  const purchases = (await manager.query(
    'select id, email from purchase where id = any($1) and email is not null for update',
    [erased.flatMap(({ purchase }) => purchase)],
  )) as Returned[];
  const named = erased.flatMap((block) => block.license.map((id) => ({ id, at: block.at ?? null })));
  const licenses = (await manager.query(
    `select l.id, l.email from unnest($1::uuid[], $2::timestamptz[]) as erased (id, at) join license l on l.id = erased.id
     where coalesce(coalesce(l.email_since, l.created_at) <= erased.at, true) and (l.email is not null or exists
       (select 1 from activation where license_id = l.id and (machine_id is not null or hostname_hint is not null)))
     for update of l`,
    [named.map(idOf), named.map((each) => each.at)],
  )) as Returned[];
  const holdings = { licenses: [...new Set(licenses.map(idOf))], purchases: purchases.map(idOf) };
  const passedOn = await ids(
    manager,
    `select l.id from license l join purchase p on p.id = l.purchase_id
     where p.id = any($1) and l.email = p.email and l.id <> all($2) for update of l`,
    [holdings.purchases, holdings.licenses],
  );
  await loseAddresses(manager, passedOn, at);
  await erasePersonalData(manager, holdings, at, taxRetentionYears);
  await deleteAddressData(
    manager,
    [...purchases, ...licenses].flatMap(({ email }) => email ?? []),
  );
  return holdings.licenses.length + holdings.purchases.length + passedOn.length;
}

/** The same holdings after `eraseAgain`, without licenses that it left alone: they belong to another holder now. */
export async function withoutOtherHolders(
  manager: EntityManager,
  { licenses, purchases }: PersonalData,
): Promise<PersonalData> {
  const sql = 'select id from license where id = any($1) and email is null and address_lost_at is null';
  return { licenses: await ids(manager, sql, [licenses]), purchases };
}

/** A row that a restored backup brought back. */
interface Returned {
  readonly id: string;
  readonly email: string | null;
}

/**
 * Takes the address away from licenses that keep running: the backup names a former holder who was erased, and whom the
 * license belongs to now is not known. Staff set the address again.
 */
export async function loseAddresses(
  manager: EntityManager,
  licenses: readonly string[],
  at: Date,
): Promise<void> {
  await manager.query('update license set email = null, address_lost_at = $2 where id = any($1)', [
    licenses,
    at,
  ]);
  // An active machine is known by its id alone; which of the two holders typed its label is not known.
  await manager.query(
    `update activation set hostname_hint = null, machine_id = case when ended_at is null then machine_id end
     where license_id = any($1)`,
    [licenses],
  );
  await manager.query(
    'delete from release_request where activation_id in (select id from activation where license_id = any($1))',
    [licenses],
  );
  await manager.query('delete from session where license_id = any($1)', [licenses]);
}

async function ids(manager: EntityManager, sql: string, values: unknown[]): Promise<string[]> {
  return ((await manager.query(sql, values)) as { id: string }[]).map(idOf);
}

const idOf = ({ id }: { id: string }) => id;
