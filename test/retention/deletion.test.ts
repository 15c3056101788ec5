import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { RetentionReport } from '../../src/retention/retention.service.js';
import { RetentionHarness } from './harness.js';

const NOW = '2026-11-20T00:05:00Z';

const harness = await RetentionHarness.start();
await harness.disableRollUp();
const license_id = (await harness.insert('license', {}))['id'];
const staff_id = (await harness.insert('staff', {}))['id'];

type Values = Readonly<Record<string, unknown>>;
interface Case {
  readonly what: string;
  readonly table: string;
  readonly values: () => Values;
  /** A run at `keptAt` keeps the row; a run at `deletedAt` deletes it. */
  readonly keptAt: string;
  readonly deletedAt: string;
}

const ENDED = { ended_at: '2025-11-20T15:00:00Z' };
const DUE_ON_20_NOVEMBER = { keptAt: '2026-11-19T23:59:59.999Z', deletedAt: '2026-11-20T00:00:00Z' };
const DUE_ON_28_FEBRUARY = { keptAt: '2025-02-27T23:59:59.999Z', deletedAt: '2025-02-28T00:00:00Z' };
const EXPIRED = { expires_at: '2026-11-20T12:00:00Z' };
const DUE_AFTER_NOON = { keptAt: '2026-11-20T12:00:00.000Z', deletedAt: '2026-11-20T12:00:00.001Z' };
const recordedOn = (recorded_on: string) => () => ({ recorded_on });

const DELETED: Case[] = [
  {
    what: 'an activation that was released',
    table: 'activation',
    values: () => ({ license_id, ...ENDED, ended_reason: 'released' }),
    ...DUE_ON_20_NOVEMBER,
  },
  {
    what: 'an activation that ended on a leap day',
    table: 'activation',
    values: () => ({ license_id, ended_at: '2024-02-29T23:59:59Z', ended_reason: 'refunded' }),
    ...DUE_ON_28_FEBRUARY,
  },
  {
    what: 'a license that was refunded, revoked or erased',
    table: 'license',
    values: () => ({ ...ENDED, email: null }),
    ...DUE_ON_20_NOVEMBER,
  },
  {
    what: 'a license that stopped at its expiry',
    table: 'license',
    values: () => ({ on_expiry: 'stop', expires_at: '2025-11-20T00:00:00Z' }),
    ...DUE_ON_20_NOVEMBER,
  },
  {
    what: 'a license whose expiry was set to a time that was long past',
    table: 'license',
    values: () => ({ on_expiry: 'stop', expires_at: '2020-01-01', end_changed_at: ENDED.ended_at }),
    ...DUE_ON_20_NOVEMBER,
  },
  {
    what: 'a license whose expiry was set long before the license expired',
    table: 'license',
    values: () => ({ on_expiry: 'stop', expires_at: '2025-11-20', end_changed_at: '2025-01-01' }),
    ...DUE_ON_20_NOVEMBER,
  },
  {
    what: 'a license that was revoked before it expired',
    table: 'license',
    values: () => ({ on_expiry: 'stop', expires_at: '2026-06-01', ...ENDED, staff_status: 'revoked' }),
    ...DUE_ON_20_NOVEMBER,
  },
  {
    what: 'a license that was revoked after it expired',
    table: 'license',
    values: () => ({ on_expiry: 'stop', expires_at: '2025-11-20', ended_at: '2026-06-01' }),
    ...DUE_ON_20_NOVEMBER,
  },
  {
    what: 'a purchase of the last day of a year',
    table: 'purchase',
    values: recordedOn('2016-12-31'),
    keptAt: '2026-12-31T23:59:59.999Z',
    deletedAt: '2027-01-01T00:00:00Z',
  },
  {
    what: 'a purchase of the first day of a year',
    table: 'purchase',
    values: recordedOn('2016-01-01'),
    keptAt: '2026-12-31T23:59:59.999Z',
    deletedAt: '2027-01-01T00:00:00Z',
  },
  { what: 'a one-time code', table: 'one_time_code', values: () => EXPIRED, ...DUE_AFTER_NOON },
  {
    what: 'a used release hint',
    table: 'one_time_code',
    values: () => ({ ...EXPIRED, nonce: null, hint_hash: randomBytes(32) }),
    ...DUE_AFTER_NOON,
  },
  {
    what: 'a staff token',
    table: 'staff_token',
    values: () => ({ staff_id, ...EXPIRED }),
    ...DUE_AFTER_NOON,
  },
  {
    what: 'the recipient of a mail',
    table: 'mail_recipient',
    values: () => ({ since: '2026-11-14T12:00:00Z' }),
    ...DUE_AFTER_NOON,
  },
  {
    what: 'an erasure request that was carried out',
    table: 'erasure_request',
    values: () => ({ honoured_at: ENDED.ended_at }),
    ...DUE_ON_20_NOVEMBER,
  },
  {
    what: 'an erasure request that was cancelled',
    table: 'erasure_request',
    values: () => ({ cancelled_at: '2024-02-29T00:00:00Z' }),
    ...DUE_ON_28_FEBRUARY,
  },
  {
    what: 'the record of a retention run',
    table: 'retention_run',
    values: () => ({ started_at: '2024-11-20T23:59:59Z' }),
    ...DUE_ON_20_NOVEMBER,
  },
];

/** Whether the row still exists. */
const exists = async (table: string, row: Values): Promise<boolean> => {
  const idColumn = 'mail_id' in row ? 'mail_id' : 'id';
  return (await harness.sql(`select 1 from ${table} where ${idColumn} = $1`, [row[idColumn]])).length === 1;
};

const KEPT: [what: string, table: string, values: () => Values][] = [
  ['an active activation', 'activation', () => ({ license_id })],
  ['a license without an end', 'license', () => ({ on_expiry: 'stop' })],
  ['an expired license with on_expiry: keep', 'license', () => ({ expires_at: '2012-01-01' })],
  ['a suspended license', 'license', () => ({ staff_status: 'suspended' })],
  ['an open erasure request', 'erasure_request', () => ({ email: 'ada@example.com' })],
];

describe('in runs from the earliest time to the latest,', () => {
  const TIMES = [...new Set(DELETED.flatMap(({ keptAt, deletedAt }) => [keptAt, deletedAt]))].toSorted();
  /** By the time of each run: what the run deleted, and the rows of `DELETED` and `KEPT` that exist after it. */
  const runs = new Map<string, { deleted: RetentionReport['deleted']; rows: Set<Values> }>();
  const rowOf = new Map<string, Values>();

  beforeAll(async () => {
    const all = [...DELETED, ...KEPT.map(([what, table, values]) => ({ what, table, values }))];
    for (const { what, table, values } of all) rowOf.set(what, await harness.insert(table, values()));
    for (const time of TIMES) {
      const { deleted } = await harness.run(time);
      const rows = new Set<Values>();
      for (const { what, table } of all)
        if (await exists(table, rowOf.get(what)!)) rows.add(rowOf.get(what)!);
      runs.set(time, { deleted, rows });
    }
  });
  afterAll(() => harness.sql('truncate license, erasure_request cascade'));

  test.each(DELETED)('$what is kept at $keptAt and deleted at $deletedAt', ({ what, keptAt, deletedAt }) => {
    const row = rowOf.get(what)!;
    expect([runs.get(keptAt)!.rows.has(row), runs.get(deletedAt)!.rows.has(row)]).toEqual([true, false]);
  });

  test.each(TIMES)('the report of the run at %s counts the rows that it deleted, by table', (time) => {
    const counts = Map.groupBy(
      DELETED.filter(({ deletedAt }) => deletedAt === time),
      ({ table }) => table,
    );
    const expected = Object.fromEntries([...counts].map(([table, rows]) => [table, rows.length]));
    expect(runs.get(time)!.deleted).toEqual(expected);
  });

  test.each(KEPT)('%s is never deleted because of its age', (what) => {
    expect(runs.get(TIMES.at(-1)!)!.rows.has(rowOf.get(what)!)).toBe(true);
  });
});

test('a week of telemetry counts is deleted 24 months after its Sunday, with all its counts', async () => {
  await harness.insert('fleet_week', { week_end: '2024-11-17' });
  const countTables = ['fleet_cell', 'fleet_latency', 'crash_week'];
  for (const table of countTables) await harness.insert(table, { week_end: '2024-11-17' });
  const counts = () => Promise.all(countTables.map((table) => harness.count(table)));
  expect((await harness.run('2026-11-16T23:59:59.999Z')).deleted).toEqual({});
  expect(await counts()).toEqual([1, 1, 1]);
  expect((await harness.run('2026-11-17T00:00:00Z')).deleted).toEqual({ fleet_week: 1 });
  expect(await counts()).toEqual([0, 0, 0]);
});

test('a purchase is kept for TAX_RETENTION_YEARS', async () => {
  const purchase = await harness.insert('purchase', { recorded_on: '2016-07-01' });
  const twoYears = harness.instance(harness.clock, { TAX_RETENTION_YEARS: '2' });
  expect((await harness.run('2018-12-31T23:59:59.999Z', twoYears)).deleted).toEqual({});
  expect((await harness.run('2019-01-01T00:00:00Z', twoYears)).deleted).toEqual({ purchase: 1 });
  expect(await exists('purchase', purchase)).toBe(false);
});

test('when a purchase is deleted, its license gets the staff status with the same effect', async () => {
  const cases = [
    ['paid', 'active', 'active'],
    ['dispute_won', 'active', 'active'],
    ['disputed', 'active', 'suspended'],
    ['disputed', 'revoked', 'revoked'],
    // A license whose refund was reported in the last year still exists, and must not become valid again.
    ['refunded', 'active', 'revoked'],
    ['refunded', 'suspended', 'revoked'],
  ] as const;
  const licenses = await Promise.all(
    cases.map(async ([state, before]) => {
      const { id: purchase_id } = await harness.insert('purchase', { state, recorded_on: '2016-07-01' });
      return (await harness.insert('license', { purchase_id, staff_status: before }))['id'];
    }),
  );
  expect((await harness.run('2027-01-01T00:05:00Z')).deleted).toEqual({ purchase: cases.length });
  for (const [index, [state, before, after]] of cases.entries()) {
    const sql = 'select purchase_id, staff_status from license where id = $1';
    const [license] = await harness.sql(sql, [licenses[index]]);
    expect({ state, before, ...license }).toEqual({ state, before, purchase_id: null, staff_status: after });
  }
});

test('a license is deleted with its activations and their release requests', async () => {
  const rowSets = await Promise.all(
    [{ ended_at: '2025-11-20' }, { ended_at: '2025-11-21' }].map(async (end) => {
      const license = await harness.insert('license', end);
      const ended = { ended_at: '2026-10-20', ended_reason: 'released' };
      const activation = await harness.insert('activation', { license_id: license['id'], ...ended });
      const request = await harness.insert('release_request', { activation_id: activation['id'] });
      return { license, activation, request };
    }),
  );
  // The second license ended a day later, so it is not due.
  expect((await harness.run(NOW)).deleted).toEqual({ license: 1 });
  for (const [index, { license, activation, request }] of rowSets.entries()) {
    expect([
      await exists('license', license),
      await exists('activation', activation),
      await exists('release_request', request),
    ]).toEqual(Array(3).fill(index === 1));
  }
});

test('a job that has failed finally is deleted 2 days after `run_at`, however long it waited; waiting and running jobs are kept', async () => {
  const job = async (at: string, values: string) => {
    const key = randomUUID();
    await harness.sql(`select graphile_worker.add_job('mail_test', job_key := $1, max_attempts := 3)`, [key]);
    await harness.sql(
      `update graphile_worker._private_jobs set created_at = '2026-11-01', run_at = $2, ${values} where key = $1`,
      [key, at],
    );
    return key;
  };
  const old = '2026-11-18T11:59:59Z';
  await job(old, 'attempts = 3');
  const kept = [
    await job('2026-11-18T12:00:00Z', 'attempts = 3'),
    await job(old, 'attempts = 2'),
    await job(old, 'attempts = 3, locked_at = now()'),
  ];
  expect((await harness.run('2026-11-20T12:00:00Z')).deleted).toEqual({ 'graphile_worker._private_jobs': 1 });
  const left = await harness.sql<{ key: string }>('select key from graphile_worker._private_jobs');
  expect(left.map(({ key }) => key).toSorted()).toEqual(kept.toSorted());
});

test('audit events are deleted after 24 months; a run for a later day deletes no younger one and does not fail', async () => {
  const insertEvent = (overdueBy: string) =>
    harness.sql(
      `insert into audit_event (id, actor, action, change, at)
       values (gen_random_uuid(), $1::text, 'test', '{}', now() - interval '24 months' - $1::interval)`,
      [overdueBy],
    );
  for (const overdueBy of ['2 days', '-1 hour', '-1 day']) await insertEvent(overdueBy);
  const year = new Date().getUTCFullYear();
  expect((await harness.run(`${year + 5}-01-01T00:05:00Z`)).deleted).toMatchObject({ audit_event: 1 });
  const left = await harness.sql<{ actor: string }>('select actor from audit_event order by at');
  expect(left.map(({ actor }) => actor)).toEqual(['-1 hour', '-1 day']);
});

test.each([
  ['one_time_code', `gen_random_uuid(), 'a@example.com', 0, '2010-01-01', '2026-01-01'`],
  [
    'license',
    `gen_random_uuid(), sha256(n::text::bytea), 'AB', 1, null, 'active', 1, null, 'keep', null, '2010-01-01', '2025-01-01', '2010-01-01'`,
  ],
])('all due rows of %s are deleted, in batches of 5,000', async (table, values) => {
  await harness.sql(`
    create table batch (rows integer);
    create function record_batch() returns trigger language plpgsql as
      $$ begin insert into batch select count(*) from deleted_rows; return null; end $$;
    create trigger record_batch after delete on ${table} referencing old table as deleted_rows
      for each statement execute function record_batch();
    insert into ${table} select ${values} from generate_series(1, 10001) n`);
  expect((await harness.run(NOW)).deleted).toEqual({ [table]: 10_001 });
  const batches = await harness.sql<{ rows: number }>('select rows from batch');
  expect(batches.map(({ rows }) => rows)).toEqual([5_000, 5_000, 1]);
  await harness.sql('drop function record_batch cascade; drop table batch');
});
