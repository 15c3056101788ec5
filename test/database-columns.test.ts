import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { TELEMETRY_FIELDS } from '../src/heartbeat/telemetry.fields.js';
import { Service } from './harness.js';

let service: Service;
beforeAll(async () => void (service = await Service.start()));
afterAll(() => service.close());

const columnsOf = (table: string) =>
  service.sql(
    `select column_name as name, data_type as type, is_nullable as nullable
     from information_schema.columns where table_schema = 'public' and table_name = $1 order by ordinal_position`,
    [table],
  );

test.each(['telemetry_inbox', 'telemetry'])(
  '%s has the fields, a random id and a day, and no more',
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

test('nothing refers to telemetry, telemetry refers to nothing, and nothing counts its rows', async () => {
  const ties = await service.sql(
    `select conname as tie from pg_constraint
       where contype in ('f', 't') and (conrelid::regclass::text ~ '^telemetry' or confrelid::regclass::text ~ '^telemetry')
     union all select tgname from pg_trigger where tgrelid::regclass::text ~ '^telemetry'
     union all select relname from pg_class where relkind = 'S'
       and oid in (select objid from pg_depend where refobjid::regclass::text ~ '^telemetry')`,
  );
  expect(ties).toEqual([]);
});

test('no column can hold an address: inet, cidr and macaddr do not exist here', async () => {
  const found = await service.sql(
    `select table_name, column_name from information_schema.columns
     where table_schema = 'public' and data_type in ('inet', 'cidr', 'macaddr', 'macaddr8')`,
  );
  expect(found).toEqual([]);
});

// The public privacy page is made of these comments: a table or column without one is a thing kept and not told.
test('every table and every column says what it is and how long it stays', async () => {
  const silent = await service.sql<{ name: string }>(
    `select c.relname || coalesce('.' || a.attname, '') as name
     from pg_class c
     cross join lateral (
       select null as attname, obj_description(c.oid, 'pg_class') as comment
       union all
       select attname, col_description(c.oid, attnum) from pg_attribute
       where attrelid = c.oid and attnum > 0 and not attisdropped
     ) a
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
       and not c.relispartition and coalesce(a.comment, '') !~ '\\w{3}'
     order by 1`,
  );
  expect(silent.map(({ name }) => name)).toEqual([]);
});

test('the comments of one table do not stand for those of another: telemetry says it keeps 24 months', async () => {
  const rows = await service.sql<{ comment: string }>(
    `select col_description(attrelid, attnum) as comment from pg_attribute
     where attrelid = 'telemetry'::regclass and attnum > 0 and not attisdropped`,
  );
  expect(rows.filter(({ comment }) => !comment.includes('24 months'))).toEqual([]);
  expect(rows).toHaveLength(2 + Object.keys(TELEMETRY_FIELDS).length);
});
