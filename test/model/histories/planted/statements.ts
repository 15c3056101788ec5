import type pg from 'pg';
import { resultOf, type Planting, type Statement } from './planting.js';

/*
 * Patterns of the statements in which bugs are planted. If no statement matches a pattern any more, the test of its bug fails
 * with `this bug was not planted`.
 */

/** Finds the license of a key and an address, with the activation of the machine. */
export const FIND_LICENSE =
  /from license l .*where l\.key_hash = given\.key_hash and l\.email = given\.email limit 1\) as attempt\b/;
/** Activates a machine. The parameters are license, revision, new id, machine, hint, version and time. */
export const ACTIVATE = /^select \* from \w+\(\$1, \$2, \$3, \$4, \$5, \$6, \$7\)$/;
/** Reads activations for heartbeats. */
export const READ_ACTIVATIONS =
  /^select a\.id as activation_id.* where a\.id = any\(array\(select unnest\(\$1::uuid\[\]\)\)\)$/;
export const LOCK_LICENSE = /from "license" .* for update$/i;
/** Ends an activation, by a release by staff or by its holder. A refund uses the next statement. */
export const END_ACTIVATIONS = /^update "activation" set "ended_at" = /i;
export const END_REFUNDED_ACTIVATIONS = /^update activation set ended_at = greatest\(/;
export const CHANGE_LICENSE = /^update "license" set /i;
/** Counts the self-releases of a year. */
export const COUNT_SELF_RELEASES = /from activation .*\.released_by_holder and /;
/** Stores a reported purchase if it is new. */
export const STORE_PURCHASE = /^insert into purchase .* on conflict do nothing$/;
export const CHANGE_PURCHASE_STATE = /^update purchase set state = /;
export const STORE_REPLACED_KEY = /^insert into replaced_key /;
export const COMMIT = /^commit$/i;

/** Plants the part of a bug that reads licenses without a lock. */
export function plantMissingLock(planting: Planting): void {
  planting.replace(LOCK_LICENSE, / for update$/i, '');
}

interface ActivationCheck {
  readonly machines_allowed: number;
  readonly machines_in_use: number;
  readonly activation_id: string | null;
}

const selectActivationCheck = (countedRows: string) => `
  select l.machines_allowed, (select count(*)::integer from activation where license_id = l.id and ${countedRows}) as machines_in_use,
         a.id as activation_id, a.activated_at, a.hostname_hint
  from license l left join activation a on a.license_id = l.id and a.machine_id = $2 and a.ended_at is null
  where l.id = $1`;
const INSERT = `
  insert into activation (id, license_id, machine_id, hostname_hint, app_version, activated_at)
  values ($1, $2, $3, $4, $5, $6) returning id as activation_id, activated_at, hostname_hint`;

/**
 * Activates a machine with separate statements instead of the SQL function. The caller replaces a step by a wrong one:
 * `beforeInsert` runs after the count, `isAccepted` decides, and `countedRows` is the SQL condition of a row that counts.
 */
export async function activateWrongly(
  { values, run }: Statement,
  {
    beforeInsert = async () => {},
    isAccepted = ({ machines_in_use, machines_allowed }: ActivationCheck) =>
      machines_in_use < machines_allowed,
    countedRows = 'ended_at is null',
  },
): Promise<pg.QueryResult> {
  const [license, , id, machine, hint, version, at] = values;
  const [check] = (await run(selectActivationCheck(countedRows), [license, machine])).rows as [
    ActivationCheck,
  ];
  await beforeInsert();
  if (check.activation_id || !isAccepted(check)) return resultOf([check]);
  const [created] = (await run(INSERT, [id, license, machine, hint, version, at])).rows as [object];
  return resultOf([{ ...check, ...created, machines_in_use: check.machines_in_use + 1 }]);
}
