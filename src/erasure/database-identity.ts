import type { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';

/** Which database this is, as the lines of TOMBSTONE_FILE name it. */
export interface DatabaseIdentity {
  readonly id: string;
  /** The ids of the databases that this one is a restored copy of, and its own. */
  readonly lineage: ReadonlySet<string>;
  /** When the first of them was named. */
  readonly since: Date;
}

interface Row {
  readonly id: string;
  readonly is_current: boolean;
  readonly since: Date;
}

// A dump that is restored gets another number or another system; a base backup that recovers, another timeline.
const INCARNATION = `
  select concat_ws(' ', (select system_identifier from pg_control_system()),
                   left(pg_walfile_name(pg_current_wal_lsn()), 8),
                   (select oid from pg_database where datname = current_database())) as incarnation`;

/**
 * The identity of this database. A restored copy of another is recognised by what PostgreSQL itself says of it, and gets
 * an identity of its own beside the ones it was copied with (docs/decisions/0024).
 */
export async function identifyDatabase(
  database: Pick<DataSource, 'query'>,
  now: Date,
): Promise<DatabaseIdentity> {
  const [{ incarnation }] = (await database.query(INCARNATION)) as [{ incarnation: string }];
  const read = async () =>
    (await database.query(
      'select id, incarnation = $1 as is_current, since from database_identity order by since',
      [incarnation],
    )) as Row[];
  let rows = await read();
  if (!rows.some(({ is_current }) => is_current)) {
    const insert =
      'insert into database_identity (id, incarnation, since) values ($1, $2, $3) on conflict do nothing';
    await database.query(insert, [uuidv7(), incarnation, now]);
    rows = await read();
  }
  const { id } = rows.find(({ is_current }) => is_current)!;
  return { id, lineage: new Set(rows.map((row) => row.id)), since: rows[0]!.since };
}
