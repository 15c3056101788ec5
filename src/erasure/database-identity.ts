import { v7 as uuidv7 } from 'uuid';
import { execute, queryOne, queryRows, type SqlConnection } from '../database/sql.js';

/**
 * The identity of this database. A block of TOMBSTONE_FILE records an erasure, or the cancellation of a request, and contains the
 * `id` of the database that wrote it.
 */
interface DatabaseIdentity {
  readonly id: string;
  /** The id of this database, and the ids of the databases from which it was restored. */
  readonly lineage: ReadonlySet<string>;
  /** The time at which this database got its id. */
  readonly since: Date;
}

interface IdentityRow {
  readonly id: string;
  readonly is_current: boolean;
  readonly since: Date;
}

// The incarnation distinguishes a database from its restored copies: a restored dump has another database oid or system
// identifier, and a recovered base backup has another timeline. A promoted standby has another timeline too, so it gets a
// new id.
const SELECT_INCARNATION = `
  select concat_ws(' ', (select system_identifier from pg_control_system()),
                   left(pg_walfile_name(pg_current_wal_lsn()), 8),
                   (select oid from pg_database where datname = current_database())) as incarnation`;

/**
 * Returns the identity of this database. A restored copy is recognized by PostgreSQL's own identifiers and gets an id of its
 * own, in addition to the ids that it was copied with (docs/decisions/0024).
 */
export async function identifyDatabase(database: SqlConnection, now: Date): Promise<DatabaseIdentity> {
  const { incarnation } = await queryOne<{ incarnation: string }>(database, SELECT_INCARNATION);
  const readRows = () =>
    queryRows<IdentityRow>(
      database,
      'select id, incarnation = $1 as is_current, since from database_identity',
      [incarnation],
    );
  let rows = await readRows();
  if (!rows.some(({ is_current }) => is_current)) {
    const insert =
      'insert into database_identity (id, incarnation, since) values ($1, $2, $3) on conflict do nothing';
    await execute(database, insert, [uuidv7(), incarnation, now]);
    rows = await readRows();
  }
  const { id, since } = rows.find(({ is_current }) => is_current)!;
  return { id, lineage: new Set(rows.map((row) => row.id)), since };
}
