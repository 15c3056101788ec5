import { afterEach, expect, test } from '@jest/globals';
import { FakeClock } from '../support/harness.js';
import { RetentionHarness } from './harness.js';

const harness = await RetentionHarness.start();
await harness.disableRollUp();
afterEach(() => harness.sql('truncate telemetry_inbox, telemetry'));

/** Cutoffs within a month, at its ends, at a leap day and at the end of a year. */
const CUTOFFS: [asOf: string, days: string[], kept: string[]][] = [
  ['2026-11-20', ['2024-11-19', '2024-11-20', '2024-11-21'], ['2024-11-21']],
  ['2026-11-01', ['2024-10-31', '2024-11-01', '2024-11-02'], ['2024-11-02']],
  ['2026-11-30', ['2024-11-29', '2024-11-30', '2024-12-01'], ['2024-12-01']],
  ['2026-02-27', ['2024-02-27', '2024-02-28', '2024-02-29'], ['2024-02-28', '2024-02-29']],
  ['2026-02-28', ['2024-02-28', '2024-02-29', '2024-03-01'], ['2024-03-01']],
  ['2028-02-29', ['2026-02-28', '2026-03-01', '2026-03-02'], ['2026-03-01', '2026-03-02']],
  ['2028-03-01', ['2026-02-28', '2026-03-01', '2026-03-02'], ['2026-03-02']],
  ['2026-12-31', ['2024-12-30', '2024-12-31', '2025-01-01'], ['2025-01-01']],
  ['2027-01-01', ['2024-12-31', '2025-01-01', '2025-01-02'], ['2025-01-02']],
];
test.each(CUTOFFS)('a run on %s, given the days %j, keeps %j, from midnight on', async (asOf, days, kept) => {
  await harness.store(Object.fromEntries(days.map((day) => [day, 2])));
  const report = await harness.run(`${asOf}T00:00:00Z`);
  expect(Object.keys(await harness.days('telemetry'))).toEqual(kept);
  expect(report.deleted['telemetry']).toBe(2 * (days.length - kept.length));
});

test('the last instant of a day has the same cutoff as its midnight', async () => {
  await harness.store({ '2024-11-20': 1, '2024-11-21': 2 });
  await harness.run('2026-11-20T23:59:59.999Z');
  expect(await harness.days('telemetry')).toEqual({ '2024-11-21': 2 });
});

test('partitions of months that are due as a whole are dropped; of a month that is partly due, the due rows are deleted', async () => {
  await harness.store({ '2024-09-01': 3, '2024-10-31': 4, '2024-11-20': 5, '2024-11-21': 6 });
  expect(await harness.partitions()).toEqual(expect.arrayContaining(['2024_09', '2024_10', '2024_11']));
  const { deleted } = await harness.run('2026-11-20T00:05:00Z');
  expect(deleted).toEqual({ telemetry: 12 });
  expect(await harness.days('telemetry')).toEqual({ '2024-11-21': 6 });
  expect((await harness.partitions())[0]).toBe('2024_11');
  const left = await harness.sql(`select relname from pg_class where relname ~ '^telemetry_2024_(09|10)'`);
  expect(left).toEqual([]);
});

test('in a month that is partly due, all due rows are deleted, also if they are more than one batch', async () => {
  await harness.store({ '2024-11-20': 10_001, '2024-11-21': 1 });
  expect((await harness.run('2026-11-20T00:05:00Z')).deleted['telemetry']).toBe(10_001);
  expect(await harness.days('telemetry')).toEqual({ '2024-11-21': 1 });
});

test('telemetry of a day that is years past is moved out of the inbox and deleted in the same run', async () => {
  await harness.receive({ '2020-05-31': 2, '2024-11-20': 1, '2024-11-21': 1 });
  const { telemetry_rows_moved, deleted } = await harness.run('2026-11-20T00:05:00Z');
  expect([telemetry_rows_moved, deleted['telemetry']]).toEqual([4, 3]);
  expect(await harness.days('telemetry')).toEqual({ '2024-11-21': 1 });
  expect((await harness.partitions())[0]).toBe('2024_11');
});

test.each([
  ['2025-02-10', 2029],
  ['2036-05-10', 2034],
])('a run with the as_of %s in December %i also creates the partitions from then on', async (asOf, year) => {
  const clock = new FakeClock(new Date(`${year}-12-31T23:30:00Z`));
  await harness.run(`${asOf}T12:00:00Z`, harness.instance(clock));
  const currentMonths = [`${year}_12`, `${year + 1}_01`, `${year + 1}_02`, `${year + 1}_03`];
  expect(await harness.partitions()).toEqual(expect.arrayContaining(currentMonths));
});

test('a run records its times, its as_of, and by table the deleted rows and the oldest day', async () => {
  await harness.store({ '2024-11-20': 5, '2024-11-21': 6 });
  await harness.sql('truncate retention_run');
  harness.clock.set('2026-11-20T13:00:00Z');
  await harness.insert('audit_event', { at: new Date('2026-11-02T08:00:00Z') });
  await harness.run('2026-11-20T00:05:00Z');
  expect(await harness.sql('select * from retention_run')).toEqual([
    {
      id: expect.any(String),
      as_of: new Date('2026-11-20T00:05:00Z'),
      started_at: new Date('2026-11-20T13:00:00Z'),
      finished_at: new Date('2026-11-20T13:00:00Z'),
      deleted: { telemetry: 5 },
      // The oldest day is recorded for tables that lost no row as well.
      oldest: expect.objectContaining({ telemetry: '2024-11-21', audit_event: '2026-11-02' }),
      failed: [],
    },
  ]);
});
