import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { RetentionHarness } from './harness.js';

let harness: RetentionHarness;
let license_id: unknown;
let staff_id: unknown;
beforeAll(async () => {
  harness = await RetentionHarness.start();
  await harness.disableRollUp();
  license_id = (await harness.insert('license', {}))['id'];
  staff_id = (await harness.insert('staff', {}))['id'];
});
afterAll(() => harness.close());

type Says = Readonly<Record<string, unknown>>;
interface Case {
  readonly what: string;
  readonly table: string;
  readonly says: () => Says;
  /** The last moment at which it is kept, and the first at which it is deleted. */
  readonly until: string;
  readonly gone: string;
}

const ENDED = { ended_at: '2025-11-20T15:00:00Z' };
const YEAR_LATER = { until: '2026-11-19T23:59:59.999Z', gone: '2026-11-20T00:00:00Z' };
const LEAP_DAY_LATER = { until: '2025-02-27T23:59:59.999Z', gone: '2025-02-28T00:00:00Z' };
const EXPIRED = { expires_at: '2026-11-20T12:00:00Z' };
const EXPIRY = { until: '2026-11-20T12:00:00.000Z', gone: '2026-11-20T12:00:00.001Z' };
const bought = (recorded_on: string) => () => ({ recorded_on });

const LEAVING: Case[] = [
  {
    what: 'an activation that was released',
    table: 'activation',
    says: () => ({ license_id, ...ENDED, ended_reason: 'released' }),
    ...YEAR_LATER,
  },
  {
    what: 'an activation that ended on a leap day',
    table: 'activation',
    says: () => ({ license_id, ended_at: '2024-02-29T23:59:59Z', ended_reason: 'refunded' }),
    ...LEAP_DAY_LATER,
  },
  {
    what: 'a license that was refunded, revoked or erased',
    table: 'license',
    says: () => ({ ...ENDED, email: null }),
    ...YEAR_LATER,
  },
  {
    what: 'a license that stopped at its expiry',
    table: 'license',
    says: () => ({ on_expiry: 'stop', expires_at: '2025-11-20T00:00:00Z' }),
    ...YEAR_LATER,
  },
  {
    what: 'a license whose expiry was set when it was long past',
    table: 'license',
    says: () => ({ on_expiry: 'stop', expires_at: '2020-01-01', end_changed_at: ENDED.ended_at }),
    ...YEAR_LATER,
  },
  {
    what: 'a license whose end was changed long before it came',
    table: 'license',
    says: () => ({ on_expiry: 'stop', expires_at: '2025-11-20', end_changed_at: '2025-01-01' }),
    ...YEAR_LATER,
  },
  {
    what: 'a license that was revoked before it expired',
    table: 'license',
    says: () => ({ on_expiry: 'stop', expires_at: '2026-06-01', ...ENDED, staff_status: 'revoked' }),
    ...YEAR_LATER,
  },
  {
    what: 'a license that was revoked after it expired',
    table: 'license',
    says: () => ({ on_expiry: 'stop', expires_at: '2025-11-20', ended_at: '2026-06-01' }),
    ...YEAR_LATER,
  },
  {
    what: 'a purchase of the last day of a year',
    table: 'purchase',
    says: bought('2016-12-31'),
    until: '2026-12-31T23:59:59.999Z',
    gone: '2027-01-01T00:00:00Z',
  },
  {
    what: 'a purchase of the first day of a year',
    table: 'purchase',
    says: bought('2016-01-01'),
    until: '2026-12-31T23:59:59.999Z',
    gone: '2027-01-01T00:00:00Z',
  },
  { what: 'a code', table: 'one_time_code', says: () => EXPIRED, ...EXPIRY },
  { what: 'a staff token', table: 'staff_token', says: () => ({ staff_id, ...EXPIRED }), ...EXPIRY },
  {
    what: 'the recipient of a mail',
    table: 'mail_recipient',
    says: () => ({ since: '2026-11-14T12:00:00Z' }),
    ...EXPIRY,
  },
  {
    what: 'a deletion request that was honoured',
    table: 'erasure_request',
    says: () => ({ honoured_at: ENDED.ended_at }),
    ...YEAR_LATER,
  },
  {
    what: 'a deletion request that was taken back',
    table: 'erasure_request',
    says: () => ({ cancelled_at: '2024-02-29T00:00:00Z' }),
    ...LEAP_DAY_LATER,
  },
  {
    what: 'a line of the ledger',
    table: 'retention_run',
    says: () => ({ started_at: '2024-11-20T23:59:59Z' }),
    ...YEAR_LATER,
  },
];

/** The only row of a table with these values. */
const there = async (table: string, row: Says): Promise<boolean> => {
  const key = 'mail_id' in row ? 'mail_id' : 'id';
  return (await harness.sql(`select 1 from ${table} where ${key} = $1`, [row[key]])).length === 1;
};

test.each(LEAVING)('$what stays until $until and leaves at $gone', async ({ table, says, until, gone }) => {
  const row = await harness.insert(table, says());
  expect((await harness.run(until)).deleted).toEqual({});
  expect(await there(table, row)).toBe(true);
  expect((await harness.run(gone)).deleted).toEqual({ [table]: 1 });
  expect(await there(table, row)).toBe(false);
});

const FAR = '2026-11-20T00:05:00Z';
test.each<[what: string, table: string, says: () => Says]>([
  ['an active binding', 'activation', () => ({ license_id })],
  ['a license without an end', 'license', () => ({ on_expiry: 'stop' })],
  ['an expired license that keeps running what it covers', 'license', () => ({ expires_at: '2012-01-01' })],
  ['a suspended license', 'license', () => ({ staff_status: 'suspended' })],
  ['an open deletion request', 'erasure_request', () => ({ email: 'ada@example.com' })],
])('%s stays, however old', async (_what, table, says) => {
  const row = await harness.insert(table, says());
  expect((await harness.run(FAR)).deleted).toEqual({});
  expect(await there(table, row)).toBe(true);
  await harness.sql(`delete from ${table} where id = $1`, [row['id']]);
});

test('a week leaves 24 months after its Sunday, with all that was counted of it', async () => {
  await harness.insert('fleet_week', { week_end: '2024-11-17' });
  const cells = ['fleet_cell', 'fleet_latency', 'crash_week'];
  for (const table of cells) await harness.insert(table, { week_end: '2024-11-17' });
  const counts = () => Promise.all(cells.map((table) => harness.count(table)));
  expect((await harness.run('2026-11-16T23:59:59.999Z')).deleted).toEqual({});
  expect(await counts()).toEqual([1, 1, 1]);
  expect((await harness.run('2026-11-17T00:00:00Z')).deleted).toEqual({ fleet_week: 1 });
  expect(await counts()).toEqual([0, 0, 0]);
});

test('TAX_RETENTION_YEARS is how long a purchase stays', async () => {
  const purchase = await harness.insert('purchase', { recorded_on: '2016-07-01' });
  const two = harness.instance(harness.clock, { TAX_RETENTION_YEARS: '2' });
  expect((await harness.run('2018-12-31T23:59:59.999Z', two)).deleted).toEqual({});
  expect((await harness.run('2019-01-01T00:00:00Z', two)).deleted).toEqual({ purchase: 1 });
  expect(await there('purchase', purchase)).toBe(false);
});

test.each([
  ['paid', 'active', 'active'],
  ['dispute_won', 'active', 'active'],
  ['disputed', 'active', 'suspended'],
  ['disputed', 'revoked', 'revoked'],
  // Refunded in its last year, its license is still there: it must not become valid again.
  ['refunded', 'active', 'revoked'],
  ['refunded', 'suspended', 'revoked'],
])('of a %s purchase that leaves, the %s license goes on as %s', async (state, before, after) => {
  const { id: purchase_id } = await harness.insert('purchase', { state, recorded_on: '2016-07-01' });
  const { id } = await harness.insert('license', { purchase_id, staff_status: before });
  expect((await harness.run('2027-01-01T00:05:00Z')).deleted).toEqual({ purchase: 1 });
  const sql = 'select purchase_id, staff_status from license where id = $1';
  expect(await harness.sql(sql, [id])).toEqual([{ purchase_id: null, staff_status: after }]);
});

test('a license that leaves takes its activations along, and their release requests', async () => {
  const ids = await Promise.all(
    [{ ended_at: '2025-11-20' }, { ended_at: '2025-11-21' }].map(async (end) => {
      const license = await harness.insert('license', end);
      const ended = { ended_at: '2026-10-20', ended_reason: 'released' };
      const activation = await harness.insert('activation', { license_id: license['id'], ...ended });
      const request = await harness.insert('release_request', { activation_id: activation['id'] });
      return { license, activation, request };
    }),
  );
  expect((await harness.run(FAR)).deleted).toEqual({ license: 1 });
  for (const [index, { license, activation, request }] of ids.entries()) {
    expect([
      await there('license', license),
      await there('activation', activation),
      await there('release_request', request),
    ]).toEqual(Array(3).fill(index === 1));
  }
});

test('work that failed for good leaves after 6 days; what waits or is being done stays', async () => {
  const job = async (at: string, says: string) => {
    const key = randomUUID();
    await harness.sql(`select graphile_worker.add_job('mail_test', job_key := $1, max_attempts := 3)`, [key]);
    await harness.sql(`update graphile_worker._private_jobs set created_at = $2, ${says} where key = $1`, [
      key,
      at,
    ]);
    return key;
  };
  const old = '2026-11-14T11:59:59Z';
  await job(old, 'attempts = 3');
  const stay = [
    await job('2026-11-14T12:00:00Z', 'attempts = 3'),
    await job(old, 'attempts = 2'),
    await job(old, 'attempts = 3, locked_at = now()'),
  ];
  expect((await harness.run('2026-11-20T12:00:00Z')).deleted).toEqual({ 'graphile_worker._private_jobs': 1 });
  const left = await harness.sql<{ key: string }>('select key from graphile_worker._private_jobs');
  expect(left.map(({ key }) => key).toSorted()).toEqual(stay.toSorted());
});

test('audit entries leave after 24 months; no day that is given takes a younger one, nor fails on it', async () => {
  const event = (ago: string) =>
    harness.sql(
      `insert into audit_event (id, actor, action, change, at)
       values (gen_random_uuid(), $1::text, 'test', '{}', now() - interval '24 months' - $1::interval)`,
      [ago],
    );
  for (const ago of ['2 days', '-1 hour', '-1 day']) await event(ago);
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
])('rows of %s leave 5,000 by 5,000, to the last one', async (table, values) => {
  await harness.sql(`
    create table batch (rows integer);
    create function note_batch() returns trigger language plpgsql as
      $$ begin insert into batch select count(*) from gone; return null; end $$;
    create trigger note_batch after delete on ${table} referencing old table as gone
      for each statement execute function note_batch();
    insert into ${table} select ${values} from generate_series(1, 10001) n`);
  expect((await harness.run(FAR)).deleted).toEqual({ [table]: 10_001 });
  const batches = await harness.sql<{ rows: number }>('select rows from batch');
  expect(batches.map(({ rows }) => rows)).toEqual([5_000, 5_000, 1]);
  await harness.sql('drop function note_batch cascade; drop table batch');
});
