import { DataSource } from 'typeorm';
import { validate as isUuid } from 'uuid';
import { problem } from '../http/problems/problem.js';
import type { Session } from '../http/sessions/sessions.js';

/** Who signed in: to one license by its key, or to every license of an address by a mailed code. */
export type Holder = Pick<Session, 'id' | 'license_id' | 'email'>;

// Of an erased license nobody is the holder.
const SEES = 'l.email is not null and (l.id = $2 or l.email = $3)';
const LICENSE = `select l.id from license l where l.id = $1 and ${SEES}`;
const ACTIVATION = `
  select a.id from activation a join license l on l.id = a.license_id where a.id = $1 and ${SEES}`;

/**
 * The id of a license that this holder sees, as it is written here.
 * @throws Problem `not_found`, the same for another holder's as for one that does not exist
 */
export const demandLicense = demanding(LICENSE);
/** The same of a binding. */
export const demandActivation = demanding(ACTIVATION);

function demanding(sql: string) {
  return async (dataSource: DataSource, { license_id, email }: Holder, id: string): Promise<string> => {
    if (!isUuid(id)) throw problem('not_found');
    const [found] = (await dataSource.query(sql, [id, license_id, email])) as { id: string }[];
    if (!found) throw problem('not_found');
    return found.id;
  };
}
