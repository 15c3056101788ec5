import { DataSource } from 'typeorm';
import { validate as isUuid } from 'uuid';
import { queryRow } from '../database/sql.js';
import { problem } from '../http/problems/problem.js';
import type { Session } from '../http/sessions/sessions.js';

/** A signed-in holder. A license key signs in to one license (`license_id`), a mailed code to all of an address (`email`). */
export type Holder = Pick<Session, 'license_id' | 'email'> & { readonly session_id: string };

// A license without an address has no holder: the holder was erased, or a restore lost the address.
const IS_VISIBLE_TO_HOLDER = 'l.email is not null and (l.id = $2 or l.email = $3)';
const SELECT_LICENSE = `select l.id from license l where l.id = $1 and ${IS_VISIBLE_TO_HOLDER}`;
const SELECT_ACTIVATION = `
  select a.id from activation a join license l on l.id = a.license_id where a.id = $1 and ${IS_VISIBLE_TO_HOLDER}`;

/**
 * Checks that a license belongs to a holder. @returns its id in the stored form, which is lower case
 * @throws Problem `not_found` if the license does not exist or belongs to another holder
 */
export const requireOwnLicense = createOwnershipCheck(SELECT_LICENSE);
/** The same check for an activation: its license must belong to the holder. @throws Problem `not_found` */
export const requireOwnActivation = createOwnershipCheck(SELECT_ACTIVATION);

function createOwnershipCheck(sql: string) {
  return async (dataSource: DataSource, { license_id, email }: Holder, id: string): Promise<string> => {
    if (!isUuid(id)) throw problem('not_found');
    const row = await queryRow<{ id: string }>(dataSource, sql, [id, license_id, email]);
    if (!row) throw problem('not_found');
    return row.id;
  };
}
