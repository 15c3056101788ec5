import { hash } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { LOCKS } from '../../src/database/locks.js';
import { RetentionHarness } from '../retention/harness.js';
import { Terminal } from '../support/processes/cli-harness.js';
import { PRODUCTION_SETTINGS } from '../support/production.js';

const RUN = ['retention', 'run'];
const AS_OF = '2026-11-20T00:05:00Z';
const FUTURE = '2099-01-01';

const harness = await RetentionHarness.start();
await harness.disableRollUp();
const terminal = new Terminal({ DATABASE_URL: harness.databaseUrl });
/** Telemetry is kept for 24 months: at AS_OF, 9 of 15 rows are due. Of 5 rows in the inbox, 3 are from an earlier day. */
async function fillTables(): Promise<void> {
  await harness.sql('truncate telemetry_inbox, telemetry, one_time_code, retention_run');
  await harness.receive({ '2024-10-31': 4, '2024-11-20': 5, '2024-11-21': 6 });
  await harness.run('2024-12-01T12:00:00Z');
  await harness.receive({ '2026-11-19': 3, '2026-11-20': 2 });
  await harness.insert('one_time_code', { expires_at: '2026-11-19' });
  // The run above stored a date of 2024 in file_rewrite. By the real clock of the commands these tables would be due for a rewrite.
  await harness.sql('truncate retention_run, file_rewrite');
}

/** Returns a digest of every row of every table and its physical place. */
async function digestOfTables(): Promise<string> {
  const tables = await harness.sql<{ name: string }>(
    `select oid::regclass::text as name from pg_class where relkind = 'r'
     and relnamespace in ('public'::regnamespace, 'graphile_worker'::regnamespace) order by 1`,
  );
  const rows = [];
  for (const { name } of tables)
    rows.push(name, await harness.sql(`select tableoid, ctid, t::text from ${name} t order by ctid`));
  return hash('sha256', JSON.stringify(rows));
}

describe('retention run', () => {
  test('deletes rows at the end of their period, prints the counts and stores them', async () => {
    await fillTables();
    expect(await terminal.json([...RUN, '--as-of', AS_OF])).toEqual({
      as_of: AS_OF,
      dry_run: false,
      telemetry_rows_moved: 3,
      weeks_counted: 0,
      activations_ended: 0,
      deleted: { telemetry: 9, one_time_code: 1 },
      tables_rewritten: 0,
      failed: [],
    });
    expect(await harness.days('telemetry')).toEqual({ '2024-11-21': 6, '2026-11-19': 3 });
    expect(
      await harness.sql(
        'select as_of, finished_at is not null as finished, deleted, failed from retention_run',
      ),
    ).toEqual([
      { as_of: new Date(AS_OF), finished: true, deleted: { telemetry: 9, one_time_code: 1 }, failed: [] },
    ]);
  });

  test('--dry-run counts the same rows, and changes nothing at all', async () => {
    await fillTables();
    const before = await digestOfTables();
    expect(await terminal.json([...RUN, '--as-of', AS_OF, '--dry-run'])).toEqual({
      as_of: AS_OF,
      dry_run: true,
      telemetry_rows_moved: 3,
      weeks_counted: 0,
      activations_ended: 0,
      deleted: { telemetry: 9, one_time_code: 1 },
      tables_rewritten: 0,
      failed: [],
    });
    expect(await digestOfTables()).toBe(before);
    // A run without --dry-run changes the digest.
    await harness.run(AS_OF);
    expect(await digestOfTables()).not.toBe(before);
  });

  test('without --json it prints lines of text', async () => {
    await fillTables();
    const run = await terminal.run([...RUN, '--as-of', AS_OF, '--dry-run']);
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(run.stdout.replaceAll(/ {2,}/g, '  ')).toBe(
      [
        `As of  ${AS_OF}`,
        'Telemetry inbox  3 rows would move to telemetry',
        'telemetry  9 rows would be deleted',
        'one_time_code  1 row would be deleted',
        '',
      ].join('\n'),
    );
    await harness.run(AS_OF);
    await harness.sql('truncate file_rewrite');
    const again = await terminal.run([...RUN, '--as-of', AS_OF]);
    expect(again.stdout.replaceAll(/ {2,}/g, '  ')).toBe(
      [
        `As of  ${AS_OF}`,
        'Telemetry inbox  0 rows moved to telemetry',
        'Weeks  0 counted',
        'Deleted  nothing',
        'Tables  0 rewritten',
        '',
      ].join('\n'),
    );
  });

  test('a table whose rows cannot be deleted is named, with exit code 1', async () => {
    await fillTables();
    await harness.sql('alter table one_time_code rename to elsewhere');
    const run = await terminal.run([...RUN, '--as-of', AS_OF, '--json']);
    await harness.sql('alter table elsewhere rename to one_time_code');
    expect(run).toMatchObject({
      code: 1,
      json: { deleted: { telemetry: 9 }, failed: ['one_time_code'] },
      stderr: 'The run failed for one_time_code; the other tables are done.\n',
    });
  });

  test('is refused while another run is active', async () => {
    const other = await harness.database.connect();
    await other.query('select pg_advisory_lock($1)', [LOCKS.retention]);
    const run = await terminal.run([...RUN, '--json']);
    await other.query('select pg_advisory_unlock($1)', [LOCKS.retention]);
    other.release();
    expect(run).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'Another retention run is active: try again in a moment.\n',
    });
  });

  test('an --as-of that is neither a day nor a time is refused, with exit code 2', async () => {
    const runs = ['tomorrow', '2026-02-30', ''].map((asOf) => terminal.run([...RUN, '--as-of', asOf]));
    for (const run of await Promise.all(runs)) {
      expect(run).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringMatching(/^--as-of [^\n]+\n$/),
      });
    }
  });
});

describe('a day in the future', () => {
  const future = [...RUN, '--as-of', FUTURE, '--json'];
  let env: Record<string, string>;
  beforeAll(async () => {
    env = { ...PRODUCTION_SETTINGS, ...(await terminal.init('secrets')) };
  });

  test('is refused in production, and changes nothing', async () => {
    await fillTables();
    const before = await digestOfTables();
    expect(await terminal.run(future, { env })).toMatchObject({
      code: 1,
      stdout: '',
      stderr:
        'A future day is accepted only with --dry-run or in development: deleted data cannot be restored.\n',
    });
    expect(await digestOfTables()).toBe(before);
  });

  test('is accepted with --dry-run, also in production', async () => {
    await fillTables();
    const dryRun = await terminal.run([...future, '--dry-run'], { env });
    expect(dryRun).toMatchObject({ code: 0, json: { dry_run: true, deleted: { telemetry: 20 } } });
  });

  test('is the only kind of day that is refused in production: a past day is accepted', async () => {
    await fillTables();
    const { deleted } = await terminal.json([...RUN, '--as-of', AS_OF], { env });
    expect(deleted).toEqual({ telemetry: 9, one_time_code: 1 });
  });

  test('is accepted in development', async () => {
    await fillTables();
    const run = await terminal.json([...RUN, '--as-of', FUTURE]);
    expect(run).toMatchObject({ telemetry_rows_moved: 5, deleted: { telemetry: 20 } });
    expect(await harness.count('telemetry')).toBe(0);
  });
});

test('status warns of overdue rows and of an overdue erasure request', async () => {
  await harness.receive({ '2020-01-02': 1 });
  await harness.insert('erasure_request', { email: 'ada@example.com', received_on: '2020-01-01' });
  const expected = [
    'The telemetry inbox holds rows of 2020-01-02, which should have moved.',
    'An erasure request was due on 2020-01-31 and is overdue.',
  ];
  expect((await terminal.json(['status'])).warnings).toEqual(expect.arrayContaining(expected));
  const { stdout } = await terminal.run(['status']);
  for (const sentence of expected) expect(stdout).toMatch(new RegExp(`^Warning +${sentence}$`, 'm'));
});
