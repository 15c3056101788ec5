import { beforeEach, expect, test } from '@jest/globals';
import { hasLatestRun } from '../../src/retention/finished-runs.js';
import { maintenanceDataSource } from '../../src/database/data-source.js';
import { FakeClock } from '../support/harness.js';
import { afterThisFile } from '../support/of-this-file.js';
import { RetentionHarness } from './harness.js';

const NOW = '2026-11-20T13:00:00Z';
const DUE = '2026-11-20T12:05:00Z';
const RUN = { as_of: DUE, started_at: DUE, finished_at: '2026-11-20T12:06:00Z' };

const harness = await RetentionHarness.start();
const dataSource = await maintenanceDataSource(harness.databaseUrl).initialize();
afterThisFile(() => dataSource.destroy());
beforeEach(() => harness.sql('truncate retention_run'));

/** Whether the hourly run that was due last has taken place. If not, a service that starts makes up for it. */
const hasRun = () => hasLatestRun(dataSource, harness.clock);

test('a run counts until the next one is due, five minutes after each hour', async () => {
  harness.clock.set(NOW);
  expect(await hasRun()).toBe(false);
  await harness.insert('retention_run', RUN);
  for (const [now, counts] of [
    ['2026-11-20T12:04:59Z', false],
    ['2026-11-20T12:06:00Z', true],
    ['2026-11-20T13:04:59Z', true],
    ['2026-11-20T13:05:00Z', false],
  ] as const) {
    harness.clock.set(now);
    expect([now, await hasRun()]).toEqual([now, counts]);
  }
});

test('a run that began before the last due time does not count', async () => {
  harness.clock.set(NOW);
  const earlier = '2026-11-20T12:04:59Z';
  await harness.insert('retention_run', { ...RUN, as_of: earlier, started_at: earlier });
  expect(await hasRun()).toBe(false);
});

test('after midnight, the run of 23:05 counts until the next one is due at 00:05', async () => {
  const started = '2026-11-19T23:05:00Z';
  await harness.insert('retention_run', { as_of: started, started_at: started, finished_at: started });
  for (const [now, counts] of [
    ['2026-11-20T00:04:59Z', true],
    ['2026-11-20T00:05:00Z', false],
  ] as const) {
    harness.clock.set(now);
    expect([now, await hasRun()]).toEqual([now, counts]);
  }
});

test.each([
  ['that was interrupted', { finished_at: null }],
  ['that failed in a table', { failed: ['purchase'] }],
  ['for another day', { as_of: '2026-11-19T12:05:00Z' }],
])('a run %s does not count', async (_title, different) => {
  harness.clock.set(NOW);
  await harness.insert('retention_run', { ...RUN, ...different });
  expect(await hasRun()).toBe(false);
});

test('no run counts while the clock has jumped ahead', async () => {
  await harness.insert('retention_run', RUN);
  const clock = new FakeClock('2026-11-20T11:00:00Z');
  expect(clock.hasJumpedAhead()).toBe(false);
  clock.jump(7_200_000);
  expect(await hasLatestRun(dataSource, clock)).toBe(false);
  expect(await hasLatestRun(dataSource, new FakeClock(NOW))).toBe(true);
});
