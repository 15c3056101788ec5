import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { SchedulerRegistry } from '@nestjs/schedule';
import { DAY_MS } from '../../src/core/clock.js';
import { LOCKS } from '../../src/database/locks.js';
import { createOldestDueQuery } from '../../src/retention/deletion.js';
import { createRetentionPolicy, type RetentionRule } from '../../src/retention/policy.js';
import { RetentionJob } from '../../src/retention/retention.job.js';
import { Terminal } from '../support/processes/cli-harness.js';
import { Service } from '../support/harness.js';
import { RetentionHarness } from './harness.js';
import { scrape } from '../support/http/scrape.js';

/* The service reports if the retention does not work: if no run finishes, or if rows are overdue. */

const RULES = createRetentionPolicy({ taxRetentionYears: 10 });
// A Sunday, because `fleet_week.week_end` is one.
const OLD = '1990-01-07';

const service = await Service.start({ environment: { METRICS_PORT: '0' } });
const harness = RetentionHarness.forDatabase(service.databaseUrl);
await harness.disableRollUp();
const terminal = Terminal.beside(service);
await service.sql(
  `create table telemetry_1990_01 partition of telemetry for values from ('1990-01-01') to ('1990-02-01')`,
);
beforeEach(() => service.clock.set('2026-11-20T13:00:00Z'));

const warnings = async (): Promise<string[]> =>
  (await service.call('GET', '/health/ready')).json.warnings as string[];

/** For the table of each rule: inserts a row that has been due for decades. */
const OVERDUE: Readonly<Record<string, () => Promise<unknown>>> = {
  telemetry: () => harness.insert('telemetry', { received_on: OLD }),
  fleet_week: () => harness.insert('fleet_week', { week_end: OLD }),
  activation: async () => {
    const { id: license_id } = await harness.insert('license', {});
    return harness.insert('activation', { license_id, ended_at: OLD, ended_reason: 'released' });
  },
  // The license cannot be deleted, because its activation never ended.
  license: async () => {
    const { id: license_id } = await harness.insert('license', { ended_at: OLD, end_changed_at: OLD });
    return harness.insert('activation', { license_id });
  },
  purchase: () => harness.insert('purchase', { recorded_on: '1989-07-01' }),
  one_time_code: () => harness.insert('one_time_code', { expires_at: OLD }),
  session: () => harness.insert('session', { expires_at: OLD }),
  staff_link: async () =>
    harness.insert('staff_link', { staff_id: (await harness.insert('staff', {}))['id'], expires_at: OLD }),
  passkey_challenge: () => harness.insert('passkey_challenge', { expires_at: OLD }),
  staff_token: async () =>
    harness.insert('staff_token', { staff_id: (await harness.insert('staff', {}))['id'], expires_at: OLD }),
  mail_recipient: () => harness.insert('mail_recipient', { since: OLD }),
  'graphile_worker._private_jobs': async () => {
    const key = randomUUID();
    await service.sql(`select graphile_worker.add_job('mail_test', job_key := $1, max_attempts := 1)`, [key]);
    await service.sql('update graphile_worker._private_jobs set run_at = $2, attempts = 1 where key = $1', [
      key,
      OLD,
    ]);
  },
  audit_event: () => harness.insert('audit_event', { at: OLD }),
  outgoing_event: () => harness.insert('outgoing_event', { queued_at: OLD }),
  erasure_request: () => harness.insert('erasure_request', { honoured_at: OLD }),
  repeated_erasure: () => harness.insert('repeated_erasure', { repeated_at: OLD }),
  retention_run: () => harness.insert('retention_run', { started_at: OLD }),
};

const clear = async () => {
  await service.sql('truncate telemetry, license, activation, purchase, session, one_time_code cascade');
  await service.sql(
    'truncate staff_link, passkey_challenge, staff_token, mail_recipient, erasure_request, repeated_erasure',
  );
  await service.sql('delete from graphile_worker._private_jobs');
  for (const [table, column] of [
    ['fleet_week', 'week_end'],
    ['audit_event', 'at'],
    ['outgoing_event', 'queued_at'],
    ['retention_run', 'started_at'],
  ])
    await service.sql(`delete from ${table} where ${column} = '${OLD}'`);
};

/** The warning of a rule. The period of a purchase begins at the end of its year. */
const warningOf = ({ table, period, months }: RetentionRule) => {
  const kept = period.replace('{months}', `${months} months`).replace('{years}', '10 years');
  return `Rows of ${table === 'purchase' ? '1990-01-01' : OLD} in ${table} should have been deleted (kept ${kept}).`;
};

describe('an overdue rule', () => {
  afterEach(clear);

  test.each(RULES)('of $table causes a warning in /health/ready, and no other rule does', async (rule) => {
    expect(await warnings()).toEqual([]);
    await OVERDUE[rule.table]!();
    const found = await warnings();
    // A mail job that failed finally has a warning of its own.
    expect(found.filter((warning) => !warning.startsWith('Undelivered'))).toEqual([warningOf(rule)]);
  });

  test('is shown by mooring status and in the metrics, for each rule of the policy', async () => {
    const metric = (table: string) => `mooring_retention_overdue{table="${table}"}`;
    const before = await scrape(service);
    expect(RULES.map(({ table }) => before[metric(table)])).toEqual(RULES.map(() => 0));
    for (const { table } of RULES) await OVERDUE[table]!();
    const after = await scrape(service);
    expect(RULES.map(({ table }) => after[metric(table)])).toEqual(RULES.map(() => 1));
    const { warnings: statusWarnings } = await terminal.json(['status']);
    expect(statusWarnings).toEqual(expect.arrayContaining(RULES.map(warningOf)));
  });
});

test.each(RULES)('the query for the oldest due row of $table uses an index', async (rule) => {
  const { sql, value } = createOldestDueQuery(rule, new Date(), '$1');
  const client = await service.database.connect();
  await client.query('begin');
  // The tables are small here, so the test asks only whether an index can be used.
  await client.query('set local enable_seqscan = off');
  const { rows } = await client.query(`explain (costs off) ${sql.replace('$1', `'${value}'`)}`);
  await client.query('rollback');
  client.release();
  const plan = rows.map((row: Record<string, string>) => row['QUERY PLAN']).join('\n');
  // The table of the job queue has no index for this; the query for undelivered mails scans it as well.
  if (rule.table === 'graphile_worker._private_jobs') expect(plan).toMatch(/Scan/);
  else expect(plan).toMatch(/Index Cond|Recheck Cond/);
});

test('a run is scheduled for the fifth minute of each hour', async () => {
  const [job] = service.app.get(SchedulerRegistry).getCronJobs().values();
  const times = job!.nextDates(2).map(({ minute, second }) => [minute, second]);
  expect(times).toEqual([
    [5, 0],
    [5, 0],
  ]);
  const before = await harness.count('retention_run');
  await job!.fireOnTick();
  await service.app.get(RetentionJob).whenIdle();
  expect(await harness.count('retention_run')).toBe(before + 1);
});

describe('a retention run that never finishes', () => {
  /** Runs the scheduled job at this time. */
  async function runAt(time: number): Promise<void> {
    service.clock.set(new Date(time));
    const job = service.app.get(RetentionJob);
    job.run();
    await job.whenIdle();
  }
  const START = Date.parse('2026-11-20T13:00:00Z');
  // `mooring status` uses the system clock. When that is long after the time in the tests, it would warn that tables were last
  // rewritten too long ago, and two years after it also that the row of `disableRollUp` in `fleet_week` is overdue.
  beforeEach(() =>
    service.sql('delete from retention_run; delete from file_rewrite; delete from fleet_week'),
  );

  /** Creates a trigger that executes a statement when a run records its end. */
  const onFinish = (statement: string) =>
    service.sql(
      `create function on_finish() returns trigger language plpgsql as $$ begin ${statement} return new; end $$;
       create trigger on_finish before update on retention_run for each row execute function on_finish()`,
    );
  const dropTrigger = () => service.sql('drop function on_finish cascade');
  /** Holds the lock of the retention in another connection. @returns a function that releases it */
  const holdLock = async () => {
    const other = await service.database.connect();
    await other.query('select pg_advisory_lock($1)', [LOCKS.retention]);
    return async () => {
      await other.query('select pg_advisory_unlock($1)', [LOCKS.retention]);
      other.release();
    };
  };

  test.each<[what: string, breakRuns: () => Promise<unknown>]>([
    ['hangs', holdLock],
    ['fails', () => onFinish(`raise 'planted';`).then(() => dropTrigger)],
    ['is killed', () => onFinish('perform pg_terminate_backend(pg_backend_pid());').then(() => dropTrigger)],
  ])('because it %s each hour is reported after a day, until one finishes', async (_what, breakRuns) => {
    await runAt(START);
    const repair = (await breakRuns()) as () => Promise<unknown>;
    for (let hour = 1; hour <= 3; hour += 1) await runAt(START + hour * 3_600_000);
    service.clock.set(new Date(START + DAY_MS));
    expect(await warnings()).toEqual([]);
    service.clock.advance(1);
    const warning = 'No retention run has finished since 2026-11-20T13:00:00Z; the log says why.';
    expect(await warnings()).toEqual([warning]);
    expect(await scrape(service)).toMatchObject({
      mooring_warnings: 1,
      mooring_retention_age_seconds: DAY_MS / 1000 + 0.001,
    });
    await repair();
    await runAt(START + DAY_MS + 1);
    expect(await warnings()).toEqual([]);
  });

  test('is shown by mooring status; a manual run for another day does not count', async () => {
    const past = new Date(Date.now() - 2 * DAY_MS);
    const run = 'insert into retention_run (id, as_of, started_at, finished_at) values ($1, $2, $3, $3)';
    await service.sql(run, [randomUUID(), past, past]);
    await service.sql(run, [randomUUID(), '2020-01-01', new Date()]);
    expect((await terminal.json(['status'])).warnings).toEqual([
      `No retention run has finished since ${past.toISOString().slice(0, 19)}Z; the log says why.`,
    ]);
  });

  test('is reported if no run ever finished and the database is more than a day old', async () => {
    await service.sql('update schema_migration set applied_at = $1', [new Date(START)]);
    // A run that was interrupted does not count.
    await harness.insert('retention_run', { started_at: new Date(START) });
    service.clock.set(new Date(START + DAY_MS));
    expect(await warnings()).toEqual([]);
    service.clock.advance(1);
    expect(await warnings()).toEqual([
      'No retention run has ever finished, and the database was created at 2026-11-20T13:00:00Z; the log says why.',
    ]);
    await runAt(START + DAY_MS + 1);
    expect(await warnings()).toEqual([]);
  });
});
