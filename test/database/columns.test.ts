import { expect, test } from '@jest/globals';
import { TELEMETRY_FIELDS } from '../../src/telemetry/telemetry.fields.js';
import { Service } from '../support/harness.js';

const service = await Service.start();

const columnsOf = (table: string) =>
  service.sql(
    `select column_name as name, data_type as type, is_nullable as nullable
     from information_schema.columns where table_schema = 'public' and table_name = $1 order by ordinal_position`,
    [table],
  );

test.each(['telemetry_inbox', 'telemetry_inbox_draining', 'telemetry'])(
  'the columns of %s are an id, a day and the telemetry fields',
  async (table) => {
    const fields = Object.entries(TELEMETRY_FIELDS).map(([name, { type }]) => ({
      name,
      type,
      nullable: 'YES',
    }));
    expect(await columnsOf(table)).toEqual([
      { name: 'id', type: 'uuid', nullable: 'NO' },
      { name: 'received_on', type: 'date', nullable: 'NO' },
      ...fields,
    ]);
  },
);

test('the telemetry tables have no foreign key from or to another table, no trigger and no sequence', async () => {
  const links = await service.sql(
    `select conname as link from pg_constraint
       where contype in ('f', 't') and (conrelid::regclass::text ~ '^telemetry' or confrelid::regclass::text ~ '^telemetry')
     union all select tgname from pg_trigger where tgrelid::regclass::text ~ '^telemetry'
     union all select relname from pg_class where relkind = 'S'
       and oid in (select objid from pg_depend where refobjid::regclass::text ~ '^telemetry')`,
  );
  expect(links).toEqual([]);
});

test('no column has a type for network addresses, also in the job queue', async () => {
  const found = await service.sql(
    `select table_name, column_name from information_schema.columns
     where table_schema not in ('pg_catalog', 'information_schema') and udt_name in ('inet', 'cidr', 'macaddr', 'macaddr8')`,
  );
  expect(found).toEqual([]);
});

// `analyze` samples the values of a column, and the samples stay after their rows are deleted.
test('the planner keeps no address of staff, no name of a passkey and no reason', async () => {
  for (const insert of [
    `insert into staff select gen_random_uuid(), 'sampled-' || n || '@example.com', 'support', now() from generate_series(1, 100) n`,
    `insert into passkey select gen_random_uuid(), id, uuid_send(id), '', 0, '{}', now(), 'sampled ' || email from staff`,
    `insert into audit_event select gen_random_uuid(), email, 'license.set', null, 'sampled ' || id, '{}', now() from staff`,
    `insert into erasure_request select gen_random_uuid(), null, 'staff', 'sampled ' || id, now(), now(), now() from staff`,
  ])
    await service.sql(insert);
  await service.sql('analyze');
  const sampled = await service.sql(
    `select concat(tablename, '.', attname) as column from pg_stats
     where schemaname = 'public' and concat(most_common_vals, histogram_bounds, most_common_elems) like '%sampled%' order by 1`,
  );
  expect(sampled).toEqual([]);
});

/**
 * Finds tables, views and columns without a comment, also of the job queue. The public page on privacy shows these comments.
 * A comment must have a word of at least three letters.
 */
async function findUndescribed(): Promise<string[]> {
  const rows = await service.sql<{ name: string }>(
    `select c.oid::regclass || coalesce('.' || a.attname, '') as name
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     cross join lateral (
       select null as attname, obj_description(c.oid, 'pg_class') as comment
       union all
       select attname, col_description(c.oid, attnum) from pg_attribute
       where attrelid = c.oid and attnum > 0 and not attisdropped
     ) a
     where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
       -- The views of the job queue only show columns of its tables.
       and c.relkind in ('r', 'p', 'v', 'm', 'f') and not (n.nspname = 'graphile_worker' and c.relkind = 'v')
       and not c.relispartition and coalesce(a.comment, '') !~ '\\w{3}'
     order by 1`,
  );
  return rows.map(({ name }) => name);
}

test('every table and every column has a description', async () => {
  expect(await findUndescribed()).toEqual([]);
});

test.each([
  [
    'create table planted (id uuid, other text)',
    ['planted', 'planted.id', 'planted.other'],
    'drop table planted',
  ],
  [
    'alter table license add column planted text',
    ['license.planted'],
    'alter table license drop column planted',
  ],
  [
    'alter table graphile_worker._private_jobs add column planted text',
    ['graphile_worker._private_jobs.planted'],
    'alter table graphile_worker._private_jobs drop column planted',
  ],
  ['create view planted as select email from license', ['planted', 'planted.email'], 'drop view planted'],
  [
    `comment on column staff.email is ' '`,
    ['staff.email'],
    `comment on column staff.email is 'E-mail address, which names the staff member in the audit trail.'`,
  ],
])('after `%s` the missing description is found', async (plant, found, undo) => {
  try {
    await service.sql(plant);
    expect(await findUndescribed()).toEqual(found);
  } finally {
    await service.sql(undo);
  }
  expect(await findUndescribed()).toEqual([]);
});

test.each(['telemetry', 'telemetry_inbox', 'telemetry_inbox_draining'])(
  'the columns of %s have the descriptions of the telemetry fields',
  async (table) => {
    const rows = await service.sql<{ name: string; comment: string }>(
      `select attname as name, col_description(attrelid, attnum) as comment from pg_attribute
       where attrelid = $1::regclass and attname not in ('id', 'received_on') and attnum > 0 and not attisdropped`,
      [table],
    );
    const fields = Object.entries(TELEMETRY_FIELDS).map(([name, { meaning }]) => [name, `${meaning}.`]);
    expect(Object.fromEntries(rows.map(({ name, comment }) => [name, comment]))).toEqual(
      Object.fromEntries(fields),
    );
  },
);
