import pg from 'pg';
import { createDatabase, type TestDatabase } from '../harness.js';

/** The tables with their columns, without partitions and generated columns. */
const SELECT_TABLES = `
  select attrelid::regclass::text as name, string_agg(quote_ident(attname), ', ' order by attnum) as columns
  from pg_attribute join pg_class on pg_class.oid = attrelid
  where relkind in ('r', 'p') and not relispartition and attnum > 0 and not attisdropped and attgenerated = ''
    and relnamespace::regnamespace::text !~ '^(pg_|information_schema)'
  group by attrelid`;

/** Creates a database with the data of another one, as a dump of this moment and its restore do. The other one may be in use. */
export async function restoreDumpOf(url: string): Promise<TestDatabase> {
  const database = await createDatabase();
  const [source, target] = [new pg.Client(url), new pg.Client(database.url)];
  await Promise.all([source.connect(), target.connect()]);
  try {
    await source.query('begin isolation level repeatable read');
    const { rows: tables } = await source.query<{ name: string; columns: string }>(SELECT_TABLES);
    // As in a restore, no trigger runs and no foreign key is checked.
    await target.query(
      `set session_replication_role = replica; truncate ${tables.map(({ name }) => name).join()}`,
    );
    for (const { name, columns } of tables) {
      const { rows } = await source.query<{ all: string | null }>(
        `select json_agg(t)::text as all from ${name} t`,
      );
      const insert = `insert into ${name} (${columns}) overriding system value
        select ${columns} from json_populate_recordset(null::${name}, $1)`;
      if (rows[0]!.all !== null) await target.query(insert, [rows[0]!.all]);
    }
    const { rows: sequences } = await source.query<{ name: string; last: string }>(
      `select format('%I.%I', schemaname, sequencename) as name, last_value as last from pg_sequences
       where last_value is not null`,
    );
    for (const { name, last } of sequences) await target.query('select setval($1, $2)', [name, last]);
  } finally {
    await Promise.all([source.end(), target.end()]);
  }
  return database;
}
