import { DataSource } from 'typeorm';
import { validate as isUuid } from 'uuid';
import { queryRow } from '../database/sql.js';
import { problem } from '../http/problems/problem.js';
import { sinceCurrentHolder } from '../licenses/former-holder.js';
import type { Session } from '../http/sessions/sessions.js';

/** A signed-in holder. A license key signs in to one license (`license_id`), a code to all licenses of an address (`email`). */
export type Holder = Pick<Session, 'license_id' | 'email'> & { readonly session_id: string };

// The session is read again in this statement: since the guard read it, a change of the address may have ended a session that began
// with the license key. A license without an address has no holder: the holder was erased, or a restore lost the address.
const IS_VISIBLE_TO_HOLDER = `l.email is not null
  and exists (select 1 from session s where s.id = $2 and (s.license_id = l.id or s.email = l.email))`;
const SELECT_LICENSE = `select l.id, l.email from license l where l.id = $1 and ${IS_VISIBLE_TO_HOLDER}`;
const SELECT_ACTIVATION = `
  select a.id, l.email from activation a join license l on l.id = a.license_id
  where a.id = $1 and ${sinceCurrentHolder('a.ended_at')} and ${IS_VISIBLE_TO_HOLDER}`;

/** A license or an activation of a holder: its id in the stored form, which is lower case, and the address of the license. */
interface Owned {
  readonly id: string;
  readonly email: string;
}

/**
 * Checks that a license belongs to a holder. The license may get another address after the check.
 * @throws Problem `not_found` if the license does not exist or belongs to another holder
 */
export const requireOwnLicense = createOwnershipCheck(SELECT_LICENSE);
/**
 * The same check for an activation: its license must belong to the holder, and it must not have ended under a former holder.
 * @throws Problem `not_found`
 */
export const requireOwnActivation = createOwnershipCheck(SELECT_ACTIVATION);

function createOwnershipCheck(sql: string) {
  return async (dataSource: DataSource, { session_id }: Holder, id: string): Promise<Owned> => {
    if (!isUuid(id)) throw problem('not_found');
    const row = await queryRow<Owned>(dataSource, sql, [id, session_id]);
    if (!row) throw problem('not_found');
    return row;
  };
}
