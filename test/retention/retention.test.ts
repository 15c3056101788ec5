import { afterEach, expect, jest, test } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { RetentionService } from '../../src/retention/retention.service.js';
import { Service } from '../support/harness.js';
import { waitingLocks, withTableLock } from '../support/tables.js';
import { RetentionHarness } from './harness.js';
import { withLockTimeouts } from './lock-timeouts.js';

const service = await Service.start();
const harness = RetentionHarness.forDatabase(service.databaseUrl);
const retention = service.app.get(RetentionService);
afterEach(() => service.sql('truncate telemetry_inbox, telemetry_inbox_draining, telemetry'));

/** The ids of the rows of each partition, in the order in which they are stored. */
const rowsByPartition = () =>
  service.sql<{ partition: string; ids: string[] }>(
    `select tableoid::regclass::text as partition, array_agg(id::text order by ctid) as ids
     from telemetry group by 1 order by 1`,
  );

test('rows of past days are moved with all their values, and rows of today stay in the inbox', async () => {
  await harness.receive({ '2026-11-18': 3, '2026-11-19': 4, '2026-11-20': 5 });
  const before = await service.sql(
    "select * from telemetry_inbox where received_on < '2026-11-20' order by id",
  );
  expect((await retention.run(new Date('2026-11-20T00:05:00Z')))?.telemetry_rows_moved).toBe(7);
  expect(await harness.days('telemetry')).toEqual({ '2026-11-18': 3, '2026-11-19': 4 });
  expect(await harness.days('telemetry_inbox')).toEqual({ '2026-11-20': 5 });
  expect(await service.sql('select * from telemetry order by id')).toEqual(before);
});

test('rows are moved in the order of their random ids, so that their position does not show when they arrived', async () => {
  await harness.receive({ '2026-10-30': 300, '2026-10-31': 300, '2026-11-01': 300, '2026-11-02': 300 });
  const arrival = await service.sql<{ id: string }>('select id::text from telemetry_inbox order by ctid');
  expect(arrival.map(({ id }) => id)).not.toEqual(arrival.map(({ id }) => id).toSorted());
  expect((await retention.run(new Date('2026-11-03T00:05:00Z')))?.telemetry_rows_moved).toBe(1200);
  const moved = await rowsByPartition();
  expect(moved.map(({ partition, ids }) => [partition, ids.length])).toEqual([
    ['telemetry_2026_10', 600],
    ['telemetry_2026_11', 600],
  ]);
  for (const { ids } of moved) expect(ids).toEqual(ids.toSorted());
  // All rows have the same transaction id, so it does not show when they arrived either.
  expect(await service.sql('select distinct xmin::text from telemetry')).toHaveLength(1);
});

test('a second run changes nothing', async () => {
  await harness.receive({ '2026-11-19': 10, '2026-11-20': 1 });
  const asOf = new Date('2026-11-20T00:05:00Z');
  expect((await retention.run(asOf))?.telemetry_rows_moved).toBe(10);
  const before = [await rowsByPartition(), await harness.partitions(), await harness.days('telemetry_inbox')];
  expect((await retention.run(asOf))?.telemetry_rows_moved).toBe(0);
  expect([
    await rowsByPartition(),
    await harness.partitions(),
    await harness.days('telemetry_inbox'),
  ]).toEqual(before);
});

test('a finished run holds no lock, so that the next one is not refused as a concurrent run', async () => {
  const heldLocks = `select objid from pg_locks where locktype = 'advisory'
    and database = (select oid from pg_database where datname = current_database())`;
  for (let run = 0; run < 20; run += 1) {
    expect((await retention.run(new Date('2026-11-20T00:05:00Z')))?.telemetry_rows_moved).toBe(0);
    expect(await service.sql(heldLocks)).toEqual([]);
  }
});

test('of two concurrent runs on two instances one works and the other returns null', async () => {
  await harness.receive({ '2026-11-19': 10 });
  const asOf = new Date('2026-11-20T00:05:00Z');
  const other = harness.instance(service.clock);
  const { first, second } = await withTableLock(service, 'telemetry_inbox', async () => {
    // The first run waits for the lock until the second has ended, however long that takes.
    const { first } = await withLockTimeouts(0, async () => {
      const first = retention.run(asOf);
      while ((await service.sql(waitingLocks('telemetry_inbox'))).length === 0) await pause(5);
      return { first };
    });
    return { first, second: await other.run(asOf) };
  });
  expect([(await first)?.telemetry_rows_moved, second]).toEqual([10, null]);
  expect(await harness.days('telemetry')).toEqual({ '2026-11-19': 10 });
  expect((await other.run(asOf))?.telemetry_rows_moved).toBe(0);
});

test('a move that fails moves nothing and is reported, and the next run moves everything', async () => {
  await harness.receive({ '2026-11-18': 3, '2026-11-19': 4, '2026-11-20': 1 });
  await service.sql('alter table telemetry_2026_11 add constraint broken check (uptime_hours < 4)');
  const asOf = new Date('2026-11-20T00:05:00Z');
  expect(await retention.run(asOf)).toMatchObject({
    telemetry_rows_moved: 0,
    failed: [{ table: 'telemetry_inbox', error: { message: expect.stringContaining('broken') } }],
  });
  expect([await harness.days('telemetry_waiting'), await harness.days('telemetry')]).toEqual([
    { '2026-11-18': 3, '2026-11-19': 4, '2026-11-20': 1 },
    {},
  ]);
  // New telemetry is stored in the other inbox meanwhile, and its due rows are moved later with the others.
  await harness.receive({ '2026-11-19': 2, '2026-11-20': 5 });
  expect((await retention.run(asOf))?.failed).toHaveLength(1);
  expect(await harness.days('telemetry_waiting')).toEqual({
    '2026-11-18': 3,
    '2026-11-19': 6,
    '2026-11-20': 6,
  });
  await service.sql('alter table telemetry_2026_11 drop constraint broken');
  expect((await retention.run(asOf))?.telemetry_rows_moved).toBe(9);
  expect([await harness.days('telemetry'), await harness.days('telemetry_inbox')]).toEqual([
    { '2026-11-18': 3, '2026-11-19': 6 },
    { '2026-11-20': 6 },
  ]);
});

test('telemetry around midnight is stored under its day, and rows of the past day are moved by the next run', async () => {
  const { token } = await service.issueActivated();
  service.clock.set('2026-11-20T23:59:59.999Z');
  await service.heartbeat(token, { telemetry: { arch: 'arm64' } });
  service.clock.set('2026-11-21T00:00:00.000Z');
  await service.heartbeat(token, { telemetry: { arch: 'arm64' } });
  expect((await retention.run(service.clock.now()))?.telemetry_rows_moved).toBe(1);
  expect([await harness.days('telemetry'), await harness.days('telemetry_inbox')]).toEqual([
    { '2026-11-20': 1 },
    { '2026-11-21': 1 },
  ]);
});

/** A day is past from 00:00:00.000 UTC of the next day. */
const BOUNDARIES: [day: string, last: string, first: string, partition: string][] = [
  ['2026-12-31', '2026-12-31T23:59:59.999Z', '2027-01-01T00:00:00.000Z', '2026_12'],
  ['2027-02-28', '2027-02-28T23:59:59.999Z', '2027-03-01T00:00:00.000Z', '2027_02'],
  ['2028-02-28', '2028-02-28T23:59:59.999Z', '2028-02-29T00:00:00.000Z', '2028_02'],
  ['2028-02-29', '2028-02-29T23:59:59.999Z', '2028-03-01T00:00:00.000Z', '2028_02'],
  ['2028-03-01', '2028-03-01T23:59:59.999Z', '2028-03-02T00:00:00.000Z', '2028_03'],
];
test.each(BOUNDARIES)(
  'rows of %s stay in the inbox at %s and are moved at %s, to the partition %s',
  async (day, last, first, partition) => {
    await harness.receive({ [day]: 2 });
    expect((await retention.run(new Date(last)))?.telemetry_rows_moved).toBe(0);
    expect((await retention.run(new Date(first)))?.telemetry_rows_moved).toBe(2);
    expect(await rowsByPartition()).toMatchObject([{ partition: `telemetry_${partition}` }]);
  },
);

test.each([
  ['2029-01-31T12:00:00Z', ['2029_01', '2029_02', '2029_03', '2029_04'], '2029_05'],
  ['2029-10-31T12:00:00Z', ['2029_10', '2029_11', '2029_12', '2030_01'], '2030_02'],
  ['2031-12-31T23:59:59Z', ['2031_12', '2032_01', '2032_02', '2032_03'], '2032_04'],
])('a run at %s creates the partitions %j, and none after them', async (asOf, expected, further) => {
  await retention.run(new Date(asOf));
  const found = await harness.partitions();
  expect(found).toEqual(expect.arrayContaining(expected));
  expect(found).not.toContain(further);
});

test('for rows of past months a run creates the partition of their month and of all later months', async () => {
  await harness.receive({ '2024-02-29': 1, '2024-12-31': 2 });
  expect((await retention.run(new Date('2025-02-10T00:05:00Z')))?.telemetry_rows_moved).toBe(3);
  const months = ['2024_02', '2024_03', '2024_11', '2024_12', '2025_01', '2025_02', '2025_05'];
  expect(await harness.partitions()).toEqual(expect.arrayContaining(months));
  expect((await rowsByPartition()).map(({ partition }) => partition)).toEqual([
    'telemetry_2024_02',
    'telemetry_2024_12',
  ]);
});

test('each partition is a calendar month, and there is no default partition, which would prevent detaching a month', async () => {
  const bounds = await service.sql<{ bound: string }>(
    `select pg_get_expr(relpartbound, oid) as bound from pg_class
     where oid in (select inhrelid from pg_inherits where inhparent = 'telemetry'::regclass) order by relname`,
  );
  for (const { bound } of bounds) {
    const [, from, to] = /^FOR VALUES FROM \('(\d{4}-\d\d-01)'\) TO \('(\d{4}-\d\d-01)'\)$/.exec(bound)!;
    const next = new Date(`${from}T00:00:00Z`);
    next.setUTCMonth(next.getUTCMonth() + 1);
    expect(to).toBe(next.toISOString().slice(0, 10));
  }
  expect(bounds.length).toBeGreaterThan(4);
});

test('a service that starts performs the run that was missed', async () => {
  await harness.receive({ '2026-11-10': 2, '2026-11-20': 1 });
  const late = await Service.beside(service);
  await late.close();
  expect([await harness.days('telemetry'), await harness.days('telemetry_inbox')]).toEqual([
    { '2026-11-10': 2 },
    { '2026-11-20': 1 },
  ]);
});

test('a run compares the time that it uses with the clock of the database, even if its clock is set right meanwhile', async () => {
  const wrong = '2027-11-20T00:05:00Z';
  service.clock.set(wrong);
  const compared: (Date | undefined)[] = [];
  jest.spyOn(service.clock, 'agreesWith').mockImplementation((_databaseTime, at) => {
    compared.push(at);
    service.clock.set('2026-11-20T00:05:00Z');
    return true;
  });
  try {
    const report = await retention.run();
    expect([compared, report!.as_of]).toEqual([[new Date(wrong)], new Date(wrong)]);
  } finally {
    jest.restoreAllMocks();
  }
});
