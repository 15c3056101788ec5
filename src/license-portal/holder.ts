import { DataSource } from 'typeorm';
import { validate as isUuid } from 'uuid';
import { queryRow } from '../database/sql.js';
import { problem } from '../http/problems/problem.js';
import type { Session } from '../http/sessions/sessions.js';

/** A signed-in holder: of one license by its key, or of all licenses of an address by a mailed code. */
export type Holder = Pick<Session, 'license_id' | 'email'> & { readonly session_id: string };

// A license without an address has no holder: it was erased, or a restore lost its address.
const IS_VISIBLE_TO_HOLDER = 'l.email is not null and (l.id = $2 or l.email = $3)';
const SELECT_LICENSE = `select l.id from license l where l.id = $1 and ${IS_VISIBLE_TO_HOLDER}`;
const SELECT_ACTIVATION = `
  select a.id from activation a join license l on l.id = a.license_id where a.id = $1 and ${IS_VISIBLE_TO_HOLDER}`;

/**
 * Returns the stored form of the id of a holder's license.
 * @throws Problem `not_found` if the license does not exist or belongs to another holder
 */
export const requireOwnLicense = createOwnershipCheck(SELECT_LICENSE);
/** Returns the stored form of the id of an activation on a holder's license. It throws `not_found` in the same cases. */
export const requireOwnActivation = createOwnershipCheck(SELECT_ACTIVATION);

function createOwnershipCheck(sql: string) {
  return async (dataSource: DataSource, { license_id, email }: Holder, id: string): Promise<string> => {
    if (!isUuid(id)) throw problem('not_found');
    const row = await queryRow<{ id: string }>(dataSource, sql, [id, license_id, email]);
    if (!row) throw problem('not_found');
    return row.id;
  };
}
