import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { DAY_MS } from '../../src/core/clock.js';
import { LOCKS } from '../../src/database/locks.js';
import { createOldestDueQuery } from '../../src/retention/deletion.js';
import { createRetentionPolicy, type RetentionRule } from '../../src/retention/policy.js';
import { RetentionJob } from '../../src/retention/retention.job.js';
import { Terminal } from '../support/processes/cli-harness.js';
import { Service } from '../support/harness.js';
import { RetentionHarness } from './harness.js';
import { scrape } from '../support/http/scrape.js';

/* Retention that does not work is reported: a run that never finishes, and what stays longer than its rule says. */

const RULES = createRetentionPolicy({ taxRetentionYears: 10 });
// A Sunday, as the end of a week must be.
const OLD = '1990-01-07';

let service: Service;
let harness: RetentionHarness;
let terminal: Terminal;
beforeAll(async () => {
  service = await Service.start({ environment: { METRICS_PORT: '0' } });
  harness = RetentionHarness.on(service.databaseUrl);
  await harness.disableRollUp();
  terminal = new Terminal({ DATABASE_URL: service.databaseUrl, DATA_DIR: service.dataDir });
  await service.sql(
    `create table telemetry_1990_01 partition of telemetry for values from ('1990-01-01') to ('1990-02-01')`,
  );
});
beforeEach(() => service.clock.set('2026-11-20T13:00:00Z'));
afterAll(async () => {
  terminal.close();
  await harness.close();
  await service.close();
});

const warnings = async (): Promise<string[]> =>
  (await service.call('GET', '/health/ready')).json.warnings as string[];

/** A row of each rule's table that has been due for decades. */
const OVERDUE: Readonly<Record<string, () => Promise<unknown>>> = {
  telemetry: () => harness.insert('telemetry', { received_on: OLD }),
  fleet_week: () => harness.insert('fleet_week', { week_end: OLD }),
  activation: async () => {
    const { id: license_id } = await harness.insert('license', {});
    return harness.insert('activation', { license_id, ended_at: OLD, ended_reason: 'released' });
  },
  // Whatever keeps it from being deleted: here an activation that never ended.
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
    await service.sql(
      'update graphile_worker._private_jobs set created_at = $2, attempts = 1 where key = $1',
      [key, OLD],
    );
  },
  audit_event: () => harness.insert('audit_event', { at: OLD }),
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
    ['retention_run', 'started_at'],
  ])
    await service.sql(`delete from ${table} where ${column} = '${OLD}'`);
};

/** A purchase counts from the end of its year. */
const sentence = ({ table, period }: RetentionRule) =>
  `Rows of ${table === 'purchase' ? '1990-01-01' : OLD} in ${table} should have been deleted (kept ${period}).`;

describe('a rule that is overdue', () => {
  afterEach(clear);

  test.each(RULES)('of $table is named in /health/ready, alone', async (rule) => {
    expect(await warnings()).toEqual([]);
    await OVERDUE[rule.table]!();
    const all = await warnings();
    // A job that was given up is a matter of mail as well.
    expect(all.filter((each) => !each.startsWith('Undelivered'))).toEqual([sentence(rule)]);
  });

  test('is in mooring status and in the metrics as well, each rule of the policy', async () => {
    const metric = (table: string) => `mooring_retention_overdue{table="${table}"}`;
    const before = await scrape(service);
    expect(RULES.map(({ table }) => before[metric(table)])).toEqual(RULES.map(() => 0));
    for (const { table } of RULES) await OVERDUE[table]!();
    const after = await scrape(service);
    expect(RULES.map(({ table }) => after[metric(table)])).toEqual(RULES.map(() => 1));
    const { warnings: warning } = await terminal.json(['status']);
    expect(warning).toEqual(expect.arrayContaining(RULES.map(sentence)));
  });
});

test.each(RULES)('the look at $table reads an index, and of it what is due', async (rule) => {
  const { sql, value } = createOldestDueQuery(rule, new Date(), '$1');
  const client = await service.database.connect();
  await client.query('begin');
  // The tables are small here, so the test asks only whether an index can be used.
  await client.query('set local enable_seqscan = off');
  const { rows } = await client.query(`explain (costs off) ${sql.replace('$1', `'${value}'`)}`);
  await client.query('rollback');
  client.release();
  const plan = rows.map((row: Record<string, string>) => row['QUERY PLAN']).join('\n');
  // The queue's own table is the one without: it is read as the look at mails reads it.
  if (rule.table === 'graphile_worker._private_jobs') expect(plan).toMatch(/Scan/);
  else expect(plan).toMatch(/Index Cond|Recheck Cond/);
});

describe('a retention that never finishes', () => {
  /** The schedule's run, at this moment. */
  async function runAt(time: number): Promise<void> {
    service.clock.set(new Date(time));
    const job = service.app.get(RetentionJob);
    job.run();
    await job.whenIdle();
  }
  const START = Date.parse('2026-11-20T13:00:00Z');
  // `mooring status` reads the machine's clock: a rewrite of a table recorded on the test's date would be too old for it.
  beforeEach(() => service.sql('delete from retention_run; delete from file_rewrite'));

  const onFinish = (statement: string) =>
    service.sql(
      `create function on_finish() returns trigger language plpgsql as $$ begin ${statement} return new; end $$;
       create trigger on_finish before update on retention_run for each row execute function on_finish()`,
    );
  const undo = () => service.sql('drop function on_finish cascade');
  /** What another connection does that hangs, holding the lock. */
  const hang = async () => {
    const other = await service.database.connect();
    await other.query('select pg_advisory_lock($1)', [LOCKS.retention]);
    return async () => {
      await other.query('select pg_advisory_unlock($1)', [LOCKS.retention]);
      other.release();
    };
  };

  test.each<[what: string, spoil: () => Promise<unknown>]>([
    ['hangs', hang],
    ['fails', () => onFinish(`raise 'planted';`).then(() => undo)],
    ['is killed', () => onFinish('perform pg_terminate_backend(pg_backend_pid());').then(() => undo)],
  ])('because it %s each hour is reported after a day, until one finishes', async (_what, spoil) => {
    await runAt(START);
    const mend = (await spoil()) as () => Promise<unknown>;
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
    await mend();
    await runAt(START + DAY_MS + 1);
    expect(await warnings()).toEqual([]);
  });

  test('is in mooring status as well; a run by hand for another day does not count', async () => {
    const past = new Date(Date.now() - 2 * DAY_MS);
    const run = 'insert into retention_run (id, as_of, started_at, finished_at) values ($1, $2, $3, $3)';
    await service.sql(run, [randomUUID(), past, past]);
    await service.sql(run, [randomUUID(), '2020-01-01', new Date()]);
    expect((await terminal.json(['status'])).warnings).toEqual([
      `No retention run has finished since ${past.toISOString().slice(0, 19)}Z; the log says why.`,
    ]);
  });

  test('in a database where none ever did is reported once that is a day old', async () => {
    await service.sql('update schema_migration set applied_at = $1', [new Date(START)]);
    // An interrupted run does not count.
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
