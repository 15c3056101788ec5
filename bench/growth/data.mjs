import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeData } from '../load/data.mjs';
import { createDatabase, withClient } from '../load/database.mjs';
import { formatCount, measureTime } from '../measure.mjs';
import { fillWithoutIndexes } from '../load/fill-without-indexes.ts';

const TABLES = ['purchase', 'license', 'activation'];
/** The licenses are spread over this time before now. */
const SALES_PERIOD_MS = 2 * 365 * 86_400_000;

/**
 * Makes a database with `size` licenses, each with one machine and a date within the last two years. Only a random sample of
 * the licenses, spread over all dates, has real keys and tokens; the load uses these.
 */
export async function makeDatabase({ url: server, folder, progress }, name, size, sample) {
  const { migrate } = await import('../../dist/database/migrations.js');
  progress(`data: ${formatCount(size)} licenses`);
  const url = await createDatabase(server, name);
  await migrate(url);
  mkdirSync(join(folder, name));
  // The temporary functions and the temporary table exist only in this connection, so the rows are inserted over it too.
  return withClient(url, async (client) => {
    await client.query(idFunctions(size));
    const { rows: ids } = await client.query(SELECT_SAMPLE, [size, Math.min(sample, size)]);
    const insert = (_client, activations) => insertRows(client, size, activations);
    const { ms, result: data } = await measureTime(() => makeData(url, join(folder, name), ids, insert));
    // The checkpoint writes the changes to disk now, and not during the measurements.
    await client.query('checkpoint');
    const { rows: relations } = await client.query(SELECT_SIZES, [TABLES]);
    return { name, url, size, ms, data, relations };
  });
}

const SELECT_SIZES = `
  select c.relname as name, pg_relation_size(c.oid)::float8 as size, c.relkind = 'i' as is_index
  from pg_class c left join pg_index i on i.indexrelid = c.oid
  where coalesce(i.indrelid, c.oid) = any($1::regclass[]) order by coalesce(i.indrelid, c.oid)::regclass::text, 3, 1`;

// The ids have the form of UUIDv7, a time and then random bits, but are made from the name of a table and a number alone. The
// functions use immutable functions only, so that PostgreSQL inlines them instead of calling them for each row.
const idFunctions = (size) => `
  create function pg_temp.ms(n bigint) returns bigint immutable language sql as
    $$ select (${Date.now() - SALES_PERIOD_MS} + n * float8 '${SALES_PERIOD_MS / size}')::bigint $$;
  create function pg_temp.created_at(n bigint) returns timestamptz immutable language sql as
    $$ select to_timestamp(pg_temp.ms(n) / float8 '1000') $$;
  create function pg_temp.id(table_name text, n bigint) returns uuid immutable language sql as
    $$ select overlay(overlay(lpad(to_hex(pg_temp.ms(n)), 12, '0') || left(md5(table_name || n::text), 20)
         placing '7' from 13) placing '8' from 17)::uuid $$`;

// Divides the licenses into ranges by age, and picks a random one from each range.
const SELECT_SAMPLE = `
  select n, pg_temp.id('license', n) as lic, pg_temp.id('activation', n) as sub
  from (select part * $1::bigint / $2::bigint + floor(random() * ($1::bigint / $2::bigint))::bigint as n
        from generate_series(0, $2::bigint - 1) part) picked`;

async function insertRows(client, size, activations) {
  const { licenseKeyHash } = await import('../../dist/keys/license-key.js');
  await client.query(`set maintenance_work_mem = '512MB'`);
  await client.query(
    'create temp table loaded (n bigint, email text, key_hash bytea, machine_id bytea, expires_at timestamptz)',
  );
  await client.query(
    `insert into loaded select n, email, key_hash, machine_id, to_timestamp(lxp)
     from unnest($1::bigint[], $2::text[], $3::bytea[], $4::bytea[], $5::bigint[]) as t (n, email, key_hash, machine_id, lxp)`,
    [
      activations.map(({ n }) => n),
      activations.map(({ email }) => email),
      activations.map(({ license_key }) => licenseKeyHash(license_key)),
      activations.map(({ machine_id }) => Buffer.from(machine_id, 'hex')),
      activations.map(({ lxp }) => lxp),
    ],
  );
  await client.query('analyze loaded');
  await fillWithoutIndexes(client, TABLES, () => client.query(insertStatements(size)));
}

// Half of the licenses come from a purchase and staff issued the other half; every fourth has an expiry. The rows of the
// sample are inserted among the others, in the order of their dates.
const insertStatements = (size) => `
  insert into purchase (id, transaction_id, email, state, recorded_on, paid)
  select pg_temp.id('purchase', n), 'txn_' || left(md5('txn ' || n), 24), 'buyer' || n || '@example.com', 'paid',
    pg_temp.created_at(n)::date, true
  from generate_series(0, ${size - 1}, 2) n;
  insert into license (id, key_hash, key_hint, email, machines_allowed, expires_at, on_expiry, purchase_id, created_at)
  select pg_temp.id('license', n), coalesce(s.key_hash, sha256(convert_to('key ' || n, 'UTF8'))), '00',
    coalesce(s.email, 'buyer' || n || '@example.com'), case when s.n is null then 3 else 100000 end,
    case when s.n is not null then s.expires_at when n % 4 = 0 then now() + interval '1 year' end, 'keep',
    case when n % 2 = 0 then pg_temp.id('purchase', n) end, pg_temp.created_at(n)
  from generate_series(0, ${size - 1}) n left join loaded s using (n);
  insert into activation (id, license_id, machine_id, hostname_hint, app_version, activated_at)
  select pg_temp.id('activation', n), pg_temp.id('license', n),
    coalesce(s.machine_id, sha256(convert_to('machine ' || n, 'UTF8'))), 'Studio Mac', '0.9.0', pg_temp.created_at(n)
  from generate_series(0, ${size - 1}) n left join loaded s using (n)`;
