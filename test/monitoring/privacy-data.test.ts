import { beforeEach, expect, test } from '@jest/globals';
import { RetentionService } from '../../src/retention/retention.service.js';
import { BUILT_IN_DESCRIPTIONS, BUILT_IN_LANGUAGES } from '../../src/languages/built-in.js';
import { EXEMPT_TABLES, createRetentionPolicy } from '../../src/retention/policy.js';
import { NOW, Service } from '../support/harness.js';
import { whileGone, whileLocked } from '../support/tables.js';

interface Table {
  readonly name: string;
  readonly what: string;
  readonly kept: string;
  readonly leaves: boolean;
  readonly oldest: string | null;
  readonly last_deleted: { readonly on: string; readonly rows: number } | null;
  readonly columns: readonly { readonly name: string; readonly what: string }[];
}

const PERIODS = createRetentionPolicy({ taxRetentionYears: 10 }).map(({ period }) => period);

const service = await Service.start();
// A response is cached for a minute, and each test needs a new one.
beforeEach(() => service.clock.advance(60_000));

const read = (query = '') => service.call('GET', `/privacy/data${query}`);
const run = (asOf: string) => service.app.get(RetentionService).run(new Date(asOf));

async function tables(): Promise<Map<string, Table>> {
  const { status, json } = await read();
  expect(status).toBe(200);
  return new Map((json.tables as Table[]).map((table) => [table.name, table]));
}

test('the response to an anonymous caller describes every table and every column', async () => {
  const { status, headers, json } = await read();
  expect([status, headers['cache-control']]).toEqual([200, 'public, max-age=60']);
  const found = await service.sql<{ name: string; columns: string[] }>(
    `select case table_schema when 'public' then '' else table_schema || '.' end || table_name as name,
            array_agg(column_name::text order by ordinal_position) as columns
     from information_schema.columns join information_schema.tables using (table_schema, table_name)
     where table_schema in ('public', 'graphile_worker') and table_type = 'BASE TABLE'
       and table_name !~ '^telemetry_\\d{4}_\\d{2}$' group by 1 order by 1`,
  );
  const reported = (json.tables as Table[]).map(({ name, columns }) => ({
    name,
    columns: columns.map((column) => column.name),
  }));
  expect(reported.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual(
    found.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  );
  const descriptions = (json.tables as Table[]).flatMap(({ what, kept, columns }) => [
    what,
    kept,
    ...columns.map((column) => column.what),
  ]);
  for (const text of descriptions) expect(text).toMatch(/\w{3}/);
});

test('each description has a translation into each language, and no translation is without a description', async () => {
  const { tables: described } = (await read()).json as { tables: Table[] };
  const texts = described.flatMap(({ what, columns }) => [what, ...columns.map((column) => column.what)]);
  const descriptions = [...texts, ...PERIODS, ...Object.values(EXEMPT_TABLES)];
  const expected = [...new Set(descriptions)].toSorted();
  for (const translations of Object.values(BUILT_IN_DESCRIPTIONS))
    expect(Object.keys(translations).toSorted()).toEqual(expected);
  expect(Object.keys(BUILT_IN_DESCRIPTIONS)).toEqual(
    Object.keys(BUILT_IN_LANGUAGES).filter((tag) => tag !== 'en'),
  );
  // A setting changes only the length of a period, for which the text has a placeholder.
  expect(createRetentionPolicy({ taxRetentionYears: 1 }).map(({ period }) => period)).toEqual(PERIODS);
});

test.each([
  ['de', 'Lizenzen.', '10 Jahre ab dem Ende des Jahres', '24 Monate ab dem Ende der Woche'],
  ['fr', 'Licences.', '10 ans à partir de la fin de l’année', '24 mois à partir de la fin de la semaine'],
  ['ja', 'ライセンス。', '税務のため、報告された年の終わりから 10 年。', '週の終わりから 24 か月'],
])('all descriptions are in the language %s if a page requests it', async (language, what, years, months) => {
  const { json } = await read(`?language=${language}`);
  expect(json.untranslated).toEqual([]);
  const translated = new Map((json.tables as Table[]).map((table) => [table.name, table]));
  expect(translated.get('license')!.what).toBe(what);
  // Some languages separate the number and its unit by a no-break space.
  const keptOf = (name: string) => translated.get(name)!.kept.replaceAll(/\s/g, ' ');
  expect(keptOf('purchase')).toContain(years);
  expect(keptOf('fleet_week')).toBe(months);
  const english = await tables();
  for (const [name, table] of translated) {
    const { what: _what, kept: _kept, columns, ...data } = table;
    expect(english.get(name)).toMatchObject(data);
    expect(columns.map((column) => column.name)).toEqual(
      english.get(name)!.columns.map((column) => column.name),
    );
  }
});

test('a table without comments, such as a table of an operator, is described by its own name and its column names', async () => {
  await service.sql('create table notes_of_an_operator (note text)');
  const { json } = await read('?language=de');
  await service.sql('drop table notes_of_an_operator');
  expect((json.tables as Table[]).find(({ name }) => name === 'notes_of_an_operator')).toMatchObject({
    what: 'notes_of_an_operator',
    kept: null,
    columns: [{ name: 'note', what: 'note' }],
  });
});

test('each table keeps its description when the two inbox tables exchange their names', async () => {
  const descriptions = async () => [...(await tables())].map(([name, { what }]) => [name, what]);
  const before = await descriptions();
  const inbox = () => service.sql(`select 'telemetry_inbox'::regclass::oid as oid`);
  const oid = await inbox();
  await service.sql(`insert into telemetry_inbox (id, received_on) values (gen_random_uuid(), '2026-11-01')`);
  await run(NOW);
  expect(await inbox()).not.toEqual(oid);
  service.clock.advance(60_000);
  expect(await descriptions()).toEqual(before);
  await service.sql('truncate telemetry');
});

test('a description that was changed is in English in each language, and listed as untranslated', async () => {
  const comment = (text: string) => service.sql(`comment on table staff is '${text}'`);
  await comment('People of the vendor.');
  const { json } = await read('?language=de');
  expect(json.untranslated).toEqual(['People of the vendor.']);
  expect((json.tables as Table[]).find(({ name }) => name === 'staff')!.what).toBe('People of the vendor.');
  expect((await read('?language=en-GB')).json.untranslated).toEqual([]);
  await comment('Staff members of the vendor.');
});

test.each(['xx', '', '%00', '..%2Fde', 'de&language=fr'])(
  'for the unknown or invalid language "%s" the descriptions are in English',
  async (language) => {
    const { status, json } = await read(`?language=${language}`);
    const { tables: english } = (await read()).json as { tables: Table[] };
    expect([status, json.tables]).toEqual([200, english]);
    expect(json.untranslated).toContain('12 months from the repetition');
  },
);

test('the response has no personal data: no key, e-mail, label, id or token of a stored row', async () => {
  const license = await service.issue({ email: 'canary@example.com' });
  const { json } = await service.activate(license, 'studio', { hostname_hint: 'Canary Mac' });
  await service.sql(
    `update activation set ended_at = '2020-01-01', ended_reason = 'released' where license_id = $1`,
    [license.license_id],
  );
  await run(NOW);
  const { text } = await read();
  const ids = [license.license_id, json.activation.id, license.license_key, json.token];
  for (const secret of ['canary', 'Canary', ...ids]) expect(text).not.toContain(secret);
  expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-|@/);
});

test('the response has the last deletion from each table, and the day of its oldest row', async () => {
  await service.sql('truncate retention_run');
  await service.sql(
    `insert into telemetry_inbox (id, received_on) select gen_random_uuid(), day
     from unnest('{2024-11-18, 2024-11-20, 2024-11-21}'::date[]) day`,
  );
  service.clock.set('2026-11-18T13:00:00Z');
  await run('2026-11-18T00:05:00Z');
  expect((await tables()).get('telemetry')).toMatchObject({
    kept: '24 months from the day it was received',
    oldest: '2024-11-20',
    last_deleted: { on: '2026-11-18', rows: 1 },
  });
  service.clock.set('2026-11-20T13:00:00Z');
  await run('2026-11-20T00:05:00Z');
  const { json } = await read();
  expect(json.last_run).toEqual({ as_of: '2026-11-20T00:05:00Z', finished_at: '2026-11-20T13:00:00Z' });
  service.clock.set('2026-11-20T14:00:00Z');
  // A run that deletes nothing does not replace the last deletion, and an interrupted run does not count.
  await run('2026-11-20T01:05:00Z');
  await service.sql(
    `insert into retention_run (id, as_of, started_at) values (gen_random_uuid(), now(), '2026-11-20T13:30:00Z')`,
  );
  // A run with a time in the future had a wrong clock, and does not count either.
  await service.sql(
    `insert into retention_run (id, as_of, started_at, finished_at, deleted, oldest)
     select gen_random_uuid(), at, at, at, '{"telemetry": 7}', '{"telemetry": "2025-11-20"}' from unnest('{2027-11-20}'::timestamptz[]) at`,
  );
  expect((await tables()).get('telemetry')).toMatchObject({
    oldest: '2024-11-21',
    last_deleted: { on: '2026-11-20', rows: 1 },
  });
});

test('the day of a job is shown once it has failed finally: while it waits, it may be a sign-in code, which only a known address gets', async () => {
  // No instance runs this task.
  await service.sql(`select graphile_worker.add_job('mail_test', job_key := 'test', max_attempts := 3)`);
  const oldestAfter = async (attempts: number, locked_at: string | null) => {
    service.clock.advance(60_000);
    await service.sql(
      `update graphile_worker._private_jobs set run_at = $1, attempts = $2, locked_at = $3 where key = 'test'`,
      [service.clock.now(), attempts, locked_at],
    );
    await run(service.clock.now().toISOString());
    return (await tables()).get('graphile_worker._private_jobs')!.oldest;
  };
  expect(await oldestAfter(0, null)).toBeNull();
  expect(await oldestAfter(2, null)).toBeNull();
  expect(await oldestAfter(3, NOW)).toBeNull();
  expect(await oldestAfter(3, null)).toBe(service.clock.now().toISOString().slice(0, 10));
  await service.sql(`select graphile_worker.remove_job('test')`);
});

test('more deleted rows than a 32-bit number holds are shown', async () => {
  const rows = 3_000_000_000;
  await service.sql(
    `insert into retention_run (id, as_of, started_at, finished_at, deleted)
     values (gen_random_uuid(), $1, $1, $1, $2)`,
    [service.clock.now(), { telemetry: rows }],
  );
  expect((await tables()).get('telemetry')!.last_deleted).toMatchObject({ rows });
});

test('the member `leaves` is true for a table with a retention rule, and false for another table', async () => {
  const all = await tables();
  for (const name of ['telemetry', 'activation', 'session']) expect(all.get(name)!.leaves).toBe(true);
  for (const name of ['staff', 'manifest', 'fleet_cell']) expect(all.get(name)!.leaves).toBe(false);
});

test('the database is queried at most once a minute, whatever the number of requests', async () => {
  const first = await read();
  await whileGone(service, 'retention_run', async () => {
    expect((await read()).text).toBe(first.text);
    service.clock.advance(59_999);
    expect((await read()).text).toBe(first.text);
    service.clock.advance(1);
    expect((await read()).status).toBe(500);
  });
  // After the clock was set back, an old response is not kept for longer.
  await read();
  service.clock.advance(-3_600_000);
  await whileGone(service, 'retention_run', async () => expect((await read()).status).toBe(500));
});

test('while the database does not answer, the response is 503, and afterwards 200', async () => {
  const answers = await whileLocked(service, 'retention_run', () => Promise.all([read(), read()]));
  expect(answers.map(({ status, json }) => [status, json.code])).toEqual([
    [503, 'unavailable'],
    [503, 'unavailable'],
  ]);
  expect((await read()).status).toBe(200);
});
