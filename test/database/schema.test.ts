import { expect, test } from '@jest/globals';
import { migrate } from '../../src/database/migrations.js';
import { Service } from '../support/harness.js';

const service = await Service.start();

/** Describes the schema: each column, constraint, index, trigger, view, partitioned table and function is one row. */
const SCHEMA = `
  with own as (select c.oid, c.relname, c.relkind from pg_class c join pg_namespace n on n.oid = c.relnamespace
               where n.nspname = 'public' and c.relkind in ('r', 'p', 'v') and not c.relispartition)
  select format('%s.%s: %s%s%s%s', relname, attname, format_type(atttypid, atttypmod),
                case when attnotnull then ' not null' end, ' default ' || pg_get_expr(adbin, adrelid),
                case when attstattarget = 0 then ', no statistics' end) as line
  from own join pg_attribute on attrelid = own.oid and attnum > 0 and not attisdropped
  left join pg_attrdef on adrelid = attrelid and adnum = attnum
  union all select format('%s: constraint %s %s', relname, conname, pg_get_constraintdef(pg_constraint.oid))
  from own join pg_constraint on conrelid = own.oid and contype <> 'n'
  union all select pg_get_indexdef(indexrelid) from own join pg_index on indrelid = own.oid
  union all select pg_get_triggerdef(pg_trigger.oid) from own join pg_trigger on tgrelid = own.oid and not tgisinternal
  union all select format('%s: view %s', relname, pg_get_viewdef(own.oid)) from own where relkind = 'v'
  union all select format('%s: partitioned by %s', relname, pg_get_partkeydef(own.oid)) from own where relkind = 'p'
  union all select format('function %s returns %s: %s', oid::regprocedure, pg_get_function_result(oid),
                          regexp_replace(prosrc, '--[^\\n]*', '', 'g'))
  from pg_proc where pronamespace = 'public'::regnamespace
  order by 1`;

// The schema was first recorded from the eighteen migrations before the first release, which 0001 replaces. After a new
// migration it is recorded again: npm test -- test/database/schema.test.ts -u
test('the migrations give the recorded schema', async () => {
  const rows = await service.sql<{ line: string }>(SCHEMA);
  const lines = rows.map(({ line }) => line.replaceAll(/\s+/g, ' ').trim()).toSorted();
  expect(lines.join('\n')).toMatchSnapshot();
});

test('a database of a version before the first release is refused, and no migration is recorded in it', async () => {
  await service.sql(`update schema_migration set name = 'licenses0000000000001' where id = 1`);
  await service.sql('delete from schema_migration where id > 1');
  await expect(migrate(service.databaseUrl)).rejects.toThrow(
    /created by a version before the first release: use a new database/,
  );
  expect(await service.sql('select name from schema_migration')).toEqual([{ name: 'licenses0000000000001' }]);
});
