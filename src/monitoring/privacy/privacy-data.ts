import { DataSource } from 'typeorm';
import { rfc3339, rfc3339OrNull } from '../../core/clock.js';
import { Config } from '../../core/config.js';
import { queryRow, queryRows } from '../../database/sql.js';
import type { Descriptions } from '../../languages/messages.js';
import { t } from '../../languages/text.js';
import { hasFinished } from '../../retention/finished-runs.js';
import { EXEMPT_TABLES, createRetentionPolicy } from '../../retention/policy.js';

interface TableRow {
  readonly table: string;
  readonly what: string;
  readonly columns: { readonly name: string; readonly what: string }[];
}

interface RetentionRunRow {
  readonly as_of: Date;
  readonly finished_at: Date | null;
  readonly oldest: Readonly<Record<string, string>>;
}

// Reads the tables and columns, with the comments that the migrations give them. A table that an operator has added, and a
// partition of `telemetry` that was detached and is not dropped yet, have no comments, and are described by their names.
const TABLES = `
  select case when n.nspname = 'public' then c.relname else n.nspname || '.' || c.relname end as "table",
    coalesce(obj_description(c.oid, 'pg_class'), c.relname) as what,
    (select coalesce(json_agg(json_build_object('name', attname, 'what', coalesce(col_description(c.oid, attnum), attname))
                              order by attnum), '[]')
     from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped) as columns
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('public', 'graphile_worker') and c.relkind in ('r', 'p') and not c.relispartition
  order by 1`;

// Reads the last finished run whose `as_of` is on the day on which it started. A manual run for another day does not
// show the current state.
const LAST_RUN = `
  select as_of, finished_at, oldest from retention_run where ${hasFinished('$1')} and as_of::date = started_at::date
  order by started_at desc limit 1`;

// Reads, for each table, the last run that deleted rows of it.
const LAST_DELETED = `
  select distinct on (key) key as "table", value::float8 as rows, (finished_at at time zone 'UTC')::date::text as "on"
  from retention_run, jsonb_each_text(deleted) where ${hasFinished('$1')} and deleted <> '{}' order by key, started_at desc`;

/**
 * Reads, for each table, what is stored and for how long, how many rows were last deleted and when, and the day of the
 * oldest row after the last retention run (docs/privacy.md). `describePrivacyData` writes the lengths of the periods into
 * the texts.
 */
export async function readPrivacyData(dataSource: DataSource, config: Config, now: Date) {
  const tables = await queryRows<TableRow>(dataSource, TABLES);
  const run = await queryRow<RetentionRunRow>(dataSource, LAST_RUN, [now]);
  const deletions = await queryRows<{ table: string; rows: number; on: string }>(dataSource, LAST_DELETED, [
    now,
  ]);
  const rules = createRetentionPolicy(config);
  return {
    tables: tables.map(({ table, what, columns }) => {
      const lastDeletion = deletions.find((deletion) => deletion.table === table);
      const rule = rules.find((candidate) => candidate.table === table);
      return {
        name: table,
        what,
        kept: rule?.period ?? EXEMPT_TABLES[table] ?? null,
        months: rule?.months,
        // Whether retention deletes rows. Rows of a table without a rule are kept, moved (`telemetry_inbox`), removed by people
        // (`staff`, `passkey`), or deleted together with the row that they belong to.
        leaves: rule !== undefined,
        oldest: run?.oldest[table] ?? null,
        last_deleted: lastDeletion ? { on: lastDeletion.on, rows: lastDeletion.rows } : null,
        columns,
      };
    }),
    last_run: run ? { as_of: rfc3339(run.as_of), finished_at: rfc3339OrNull(run.finished_at) } : null,
  };
}

/**
 * Returns the data with its descriptions in a language. Descriptions without a translation are in English, and are listed in
 * `untranslated` unless the language is English.
 */
export function describePrivacyData(
  { tables, last_run }: Awaited<ReturnType<typeof readPrivacyData>>,
  tag: string,
  translations: Descriptions,
) {
  const untranslated = new Set<string>();
  const describe = (english: string, months?: number) => {
    const text = translations[english] ?? english;
    const isUntranslated = text === english;
    const description = formatPeriod(text, months, isUntranslated ? 'en' : tag);
    if (isUntranslated && !/^en\b/.test(tag)) untranslated.add(description);
    return description;
  };
  return {
    tables: tables.map(({ what, kept, months, columns, ...table }) => ({
      ...table,
      what: describe(what),
      kept: kept && describe(kept, months),
      columns: columns.map((column) => ({ name: column.name, what: describe(column.what) })),
    })),
    last_run,
    untranslated: [...untranslated],
  };
}

/** Fills the length of a period into its text, if it names one: `24 months` for `{months}`, or `2 years` for `{years}`. */
export function formatPeriod(text: string, months: number | undefined, tag: string): string {
  if (months === undefined) return text;
  const format = (length: number, unit: string) =>
    new Intl.NumberFormat(tag, { style: 'unit', unit, unitDisplay: 'long' }).format(length);
  return t(text, { months: format(months, 'month'), years: format(months / 12, 'year') });
}
