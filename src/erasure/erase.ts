import { DataSource, EntityManager } from 'typeorm';
import { poolOf } from '../database/data-source.js';
import { isAheadOfBothClocks } from '../database/lifetime.js';
import { execute, queryIds, queryOne, queryPrepared, queryRows } from '../database/sql.js';
import type { Erased } from '../http/responses/api-types.js';
import { setEventTime } from '../licenses/event-time.js';
import { LICENSE_END } from '../licenses/license-end.js';

/** The ids of the rows whose personal data an erasure removes. */
export interface RowIds {
  readonly licenses: readonly string[];
  readonly purchases: readonly string[];
}

/** SQL for the purchases of an address ($1): the address is in the purchase row or in the row of its license. */
export const PURCHASE_IDS_BY_EMAIL =
  'select id from purchase where email = $1 union select purchase_id from license where email = $1';

/**
 * SQL for the time of a row, to compare with the time of an erasure: a row with a later time belongs to a customer who returned
 * after the erasure. A time that is over an hour ahead was written by a clock that was ahead, so it proves no return, and counts as
 * earlier than each erasure.
 * @param now the placeholder of the present time, such as `$2`
 */
export const timeOfReturn = (time: string, now: string) =>
  `case when ${isAheadOfBothClocks(time, now)} then '-infinity' else ${time} end`;

/** `timeOfReturn` of a license (alias `l`): the time since which it has its present address. */
export const licenseAddressSince = (now: string) =>
  timeOfReturn('coalesce(l.email_since, l.created_at)', now);

/**
 * An SQL condition for a purchase `p` of PURCHASE_IDS_BY_EMAIL: the erasure of the address ($1) removes the address of its row. It
 * is false only if the row has an address other than $1, and a license of the purchase has this other address too: then the buyer
 * is another person. Without such a license, the other address may be a former one of the erased person.
 */
const IS_ERASED_PURCHASE =
  'not exists (select 1 from license where purchase_id = p.id and email = p.email and email <> $1)';

/**
 * Locks the purchases, licenses and codes of an e-mail address: purchases before licenses, as a purchase report does. A concurrent
 * purchase or activation commits before the erasure or runs after it.
 * @param at the time of the erasure @returns the rows that are erased
 */
export async function lockPersonalData(manager: EntityManager, email: string, at: Date): Promise<RowIds> {
  for (;;) {
    const purchases = await queryIds(
      manager,
      `select id from purchase where id in (${PURCHASE_IDS_BY_EMAIL}) order by id for update`,
      [email],
    );
    // A license bought between the two statements is left out, because its purchase is not locked: its holder returned after the
    // erasure began. The next query does not find it either.
    const licenses = await queryIds(
      manager,
      `select id from license where email = $1 and (purchase_id is null or purchase_id = any($2))
       order by id for update`,
      [email, purchases],
    );
    // A report may have linked an older license to a new purchase between the two statements: then they are repeated.
    const linked = await queryIds(
      manager,
      `select id from license l where email = $1 and purchase_id is not null and purchase_id <> all($2)
         and ${licenseAddressSince('$3')} < $3`,
      [email, purchases, at],
    );
    if (linked.length > 0) continue;
    // A sign-in with a code locks the code first too, and then the session that it replaces: the opposite order could deadlock.
    await execute(manager, 'select 1 from one_time_code where email = $1 for update', [email]);
    const sql = `select id from purchase p where id = any($2) and ${IS_ERASED_PURCHASE} order by id`;
    return { licenses, purchases: await queryIds(manager, sql, [email, purchases]) };
  }
}

/**
 * Deletes the sign-in codes, sessions and mail recipients of the addresses.
 * @param before limits the deletion to rows with an earlier `timeOfReturn`; null deletes all @param now the present time
 */
export async function deleteAddressData(
  manager: EntityManager,
  emails: readonly string[],
  before: Date | null = null,
  now: Date | null = null,
): Promise<void> {
  const values = [emails, before, now];
  // Codes are deleted first: a concurrent sign-in has created its session before that, or finds no code.
  for (const table of ['one_time_code', 'session'])
    await execute(
      manager,
      `delete from ${table} where email = any($1) and coalesce(${timeOfReturn('created_at', '$3')} < $2, true)`,
      values,
    );
  // The recipient of a queued receipt is kept, because only the receipt informs the holder of the erasure.
  await execute(
    manager,
    `delete from mail_recipient where email = any($1) and coalesce(${timeOfReturn('since', '$3')} < $2, true) and not exists
       (select 1 from graphile_worker.jobs where key like 'erasure_receipt % ' || mail_id)`,
    values,
  );
}

/** Removes the addresses of purchases ($1), and returns each of them. */
const CLEAR_BUYERS = `
  with buyer as (select id, email from purchase where id = any($1) and email is not null)
  update purchase p set email = null from buyer where p.id = buyer.id returning buyer.email`;

/** Returns those of the addresses that no purchase and no license has. */
async function withoutData(
  manager: EntityManager,
  addresses: readonly { readonly email: string }[],
): Promise<string[]> {
  const rows = await queryRows<{ email: string }>(
    manager,
    `select distinct email from unnest($1::text[]) email
     where not exists (select 1 from purchase p where p.email = email.email)
       and not exists (select 1 from license l where l.email = email.email)`,
    [addresses.map(({ email }) => email)],
  );
  return rows.map(({ email }) => email);
}

/**
 * Ends these licenses and their activations, removes the personal data of the licenses, activations and purchases, and deletes
 * the release requests, the sessions that a license key began, and the address data of buyers whose address no row has any more.
 * @returns the result that is stored with the request and stated in the receipt mail
 */
export async function erasePersonalData(
  manager: EntityManager,
  { licenses, purchases }: RowIds,
  at: Date,
  taxRetentionYears: number,
): Promise<Erased> {
  const activations = await queryIds(
    manager,
    `update activation set machine_id = null, hostname_hint = null,
       ended_at = coalesce(ended_at, $2), ended_reason = coalesce(ended_reason, 'released')
     where license_id = any($1) returning id`,
    [licenses, at],
  );
  // The update above locks the activations, so a concurrent release request is stored before this, or finds them ended.
  await execute(manager, 'delete from release_request where activation_id = any($1)', [activations]);
  // The trigger of the next statement records `license.erased` with this time, and `license.ended` with the `ended_at` that it
  // sets.
  await setEventTime(manager, at);
  await execute(
    manager,
    `update license set email = null, address_lost_at = null, previous_key_hash = null, previous_key_hint = null,
       ended_at = coalesce(ended_at, $2),
       end_changed_at = case when ${LICENSE_END} <= $2 then end_changed_at else $2 end
     where id = any($1)`,
    [licenses, at],
  );
  // The update above locks the licenses: a concurrent sign-in with a key created its session before that, or finds no license.
  await execute(manager, 'delete from session where license_id = any($1)', [licenses]);
  const buyers = await queryRows<{ email: string }>(manager, CLEAR_BUYERS, [purchases]);
  // A buyer's address may differ from that of the license. If no row has it any more, its codes, sessions and recipients of mails
  // are deleted too. They would otherwise stay until they expire.
  await deleteAddressData(manager, await withoutData(manager, buyers));
  return {
    licenses: licenses.length,
    activations: activations.length,
    purchases: purchases.length,
    purchases_kept_until: await readRetentionEnd(manager, purchases, taxRetentionYears),
  };
}

/** SQL for the last day (`YYYY-MM-DD`) on which a purchase `p` that fulfils a condition is kept. `$2` is TAX_RETENTION_YEARS. */
const retentionEndSql = (condition: string) =>
  `select make_date(extract(year from max(recorded_on))::integer + $2, 12, 31)::text as until from purchase p where ${condition}`;

interface RetentionEnd {
  readonly until: string | null;
}

async function readRetentionEnd(
  manager: EntityManager,
  purchases: readonly string[],
  taxRetentionYears: number,
): Promise<string | null> {
  const values = [purchases, taxRetentionYears];
  return (await queryOne<RetentionEnd>(manager, retentionEndSql('id = any($1)'), values)).until;
}

/**
 * Returns the last day (`YYYY-MM-DD`) on which any purchase is kept that the erasure of an address concerns. The row of the
 * purchase loses the address, and is kept for the tax retention. Null without purchases.
 */
export async function readRetentionEndByEmail(
  database: DataSource,
  email: string,
  taxRetentionYears: number,
): Promise<string | null> {
  const [row] = await queryPrepared<RetentionEnd>(poolOf(database), {
    name: 'read end of retention',
    text: retentionEndSql(`id in (${PURCHASE_IDS_BY_EMAIL}) and ${IS_ERASED_PURCHASE}`),
    values: [email, taxRetentionYears],
  });
  return row!.until;
}
