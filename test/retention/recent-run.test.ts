import { beforeEach, expect, test } from '@jest/globals';
import { hasRecentRun } from '../../src/retention/finished-runs.js';
import { Clock } from '../../src/core/clock.js';
import { maintenanceDataSource } from '../../src/database/data-source.js';
import { afterThisFile } from '../support/of-this-file.js';
import { RetentionHarness } from './harness.js';

const NOW = '2026-11-20T13:00:00Z';
const BEFORE = '2026-11-20T12:00:01Z';
const RECENT = { as_of: BEFORE, started_at: BEFORE, finished_at: '2026-11-20T12:05:00Z' };

const harness = await RetentionHarness.start();
const dataSource = await maintenanceDataSource(harness.databaseUrl).initialize();
afterThisFile(() => dataSource.destroy());
beforeEach(() => harness.sql('truncate retention_run'));

const isRecent = () => hasRecentRun(dataSource, harness.clock);

test('a run is recent for an hour after its start', async () => {
  harness.clock.set(NOW);
  expect(await isRecent()).toBe(false);
  await harness.insert('retention_run', RECENT);
  expect(await isRecent()).toBe(true);
  harness.clock.advance(1_000);
  expect(await isRecent()).toBe(false);
  harness.clock.set('2026-11-20T12:00:00Z');
  expect(await isRecent()).toBe(false);
});

test.each([
  ['that was interrupted', { finished_at: null }],
  ['that failed in a table', { failed: ['purchase'] }],
  ['for another day', { as_of: '2026-11-19T12:00:01Z' }],
])('a run %s does not count', async (_title, different) => {
  harness.clock.set(NOW);
  await harness.insert('retention_run', { ...RECENT, ...different });
  expect(await isRecent()).toBe(false);
});

test('no run is recent while the clock has jumped ahead', async () => {
  await harness.insert('retention_run', RECENT);
  let [now, monotonic] = [Date.parse(NOW) - 7_200_000, 0];
  class WallClock extends Clock {
    override now = () => new Date(now);
    override monotonic = () => monotonic;
  }
  const clock = new WallClock();
  expect(clock.hasJumpedAhead()).toBe(false);
  [now, monotonic] = [Date.parse(NOW), 1_000];
  expect(await hasRecentRun(dataSource, clock)).toBe(false);
  [now, monotonic] = [Date.parse(NOW), 7_200_000];
  expect(await hasRecentRun(dataSource, clock)).toBe(true);
});
