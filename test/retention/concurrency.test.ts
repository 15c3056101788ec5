import { beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { FakeClock, Service } from '../support/harness.js';
import { until } from '../support/until.js';
import { RetentionHarness } from './harness.js';

/** How long a step of a run that deletes rows waits for a lock (src/retention/retention.service.ts). */
const STEP_LOCK_TIMEOUT_MS = 5_000;
/** The limit for the slowest response during a run, in addition to CONTROL_FACTOR times the slowest of the control. */
const ANSWER_LIMIT_MS = 2_000;
/** How many times slower than the control a response may be. */
const CONTROL_FACTOR = 3;

let service: Service;
/** Another service, in whose database no retention runs: its response times show the load of the machine. */
let control: { service: Service; token: string };
let harness: RetentionHarness;
let token: string;
let license: Awaited<ReturnType<Service['issue']>>;
beforeAll(async () => {
  service = await Service.start();
  const controlService = await Service.start();
  const { json } = await controlService.activate(await controlService.issue());
  control = { service: controlService, token: json.token };
  harness = RetentionHarness.forDatabase(service.databaseUrl);
  await harness.disableRollUp();
  license = await service.issue({ machines_allowed: 100_000 });
  token = (await service.activate(license)).json.token;
});
beforeEach(async () => {
  await harness.sql('truncate telemetry_inbox, telemetry, one_time_code');
  await harness.receive({
    '2024-09-10': 3,
    '2024-10-31': 4,
    '2024-11-19': 5,
    '2024-11-21': 6,
    '2024-11-22': 7,
  });
  await harness.run('2024-12-01T12:00:00Z');
});

/**
 * Sends heartbeats with telemetry, activations, and heartbeats to the control, until it is stopped. `stop` returns the slowest
 * response of the service and of the control in milliseconds, and the number of heartbeats to the service.
 */
function startTraffic(): { stop(): Promise<{ slowest: number; slowestControl: number; beats: number }> } {
  const ending = new AbortController();
  let [slowest, slowestControl, beats] = [0, 0, 0];
  const timed = async (call: () => Promise<{ status: number; json: { telemetry?: unknown } }>) => {
    const started = performance.now();
    const answer = await call();
    slowest = Math.max(slowest, performance.now() - started);
    return answer;
  };
  const beating = (async () => {
    for (; !ending.signal.aborted; beats += 1) {
      const beat = await timed(() => service.heartbeat(token, { telemetry: { uptime_hours: beats } }));
      expect([beat.status, beat.json.telemetry]).toEqual([200, { stored: true, dropped: [] }]);
      await pause(2);
    }
  })();
  const activating = (async () => {
    while (!ending.signal.aborted) {
      const { status } = await timed(() => service.activate(license, randomUUID()));
      expect(status).toBe(201);
      await pause(2);
    }
  })();
  const controlling = (async () => {
    while (!ending.signal.aborted) {
      const began = performance.now();
      const telemetry = { uptime_hours: 1 };
      expect((await control.service.heartbeat(control.token, { telemetry })).status).toBe(200);
      slowestControl = Math.max(slowestControl, performance.now() - began);
      await pause(2);
    }
  })();
  return {
    async stop() {
      ending.abort();
      await Promise.all([beating, activating, controlling]);
      return { slowest, slowestControl, beats };
    },
  };
}

test('concurrent runs of eight instances whose clocks differ do not fail, and delete the due rows and no other row', async () => {
  for (const expires_at of ['2026-11-20T00:00:00Z', '2026-11-20T00:06:00Z', '2026-11-22T00:00:00Z'])
    await harness.insert('one_time_code', { expires_at });
  await harness.receive({ '2026-11-18': 10, '2026-11-19': 20 });
  const load = startTraffic();
  // The clocks show 23:59, 00:00 and so on until 00:06.
  const skewed = Array.from({ length: 8 }, (_, minutes) => {
    const clock = new FakeClock(new Date(Date.parse('2026-11-19T23:59:00Z') + minutes * 60_000));
    return { instance: harness.instance(clock), asOf: clock.now() };
  });
  const runs = skewed.map(async ({ instance, asOf }) => {
    const reports = [];
    // Each instance completes two runs, so that some runs come after the rows were moved.
    while (reports.length < 2) {
      const report = await instance.run(asOf);
      if (report) reports.push(report);
      else await pause(10);
    }
    return reports;
  });
  const reports = (await Promise.all(runs)).flat();
  const { slowest, slowestControl, beats } = await load.stop();
  expect(reports.flatMap(({ failed }) => failed)).toEqual([]);
  const sum = (count: (report: (typeof reports)[0]) => number) =>
    reports.reduce((total, report) => total + count(report), 0);
  // Each row was moved once, and deleted once.
  expect(sum(({ telemetry_rows_moved }) => telemetry_rows_moved)).toBe(30);
  expect(sum(({ deleted }) => deleted['telemetry'] ?? 0)).toBe(12);
  expect(sum(({ deleted }) => deleted['one_time_code'] ?? 0)).toBe(1);
  expect(await harness.days('telemetry')).toEqual({
    '2024-11-21': 6,
    '2024-11-22': 7,
    '2026-11-18': 10,
    '2026-11-19': 20,
  });
  expect(await harness.days('telemetry_inbox')).toEqual({ '2026-11-20': beats });
  expect(await harness.count('one_time_code')).toBe(2);
  expect(slowest).toBeLessThan(ANSWER_LIMIT_MS + CONTROL_FACTOR * slowestControl);
});

test('while a long transaction reads telemetry, a run gives up on that table after the lock timeout and delays no request, and the next run deletes the rows', async () => {
  const reader = await harness.database.connect();
  await reader.query('begin; select count(*) from telemetry');
  await harness.insert('one_time_code', { expires_at: '2026-11-01' });
  await harness.receive({ '2026-11-19': 20 });
  const load = startTraffic();
  const started = performance.now();
  const report = await harness.retention.run(new Date('2026-11-20T00:05:00Z'));
  const took = performance.now() - started;
  const { slowest, slowestControl, beats } = await load.stop();
  expect(report).toMatchObject({
    telemetry_rows_moved: 20,
    deleted: { one_time_code: 1 },
    failed: [{ table: 'telemetry', error: { message: expect.stringContaining('lock timeout') } }],
  });
  expect(took).toBeGreaterThanOrEqual(STEP_LOCK_TIMEOUT_MS);
  // Only one statement of the run waited for the whole lock timeout. The second term allows for a slow machine.
  expect(took).toBeLessThan(2 * STEP_LOCK_TIMEOUT_MS + 100 * slowestControl);
  expect(slowest).toBeLessThan(ANSWER_LIMIT_MS + CONTROL_FACTOR * slowestControl);
  expect(beats).toBeGreaterThan(20);
  await reader.query('rollback');
  reader.release();
  // The first run began to detach a partition, whose rows are no longer visible. The next run deletes them.
  expect((await harness.run('2026-11-20T00:05:00Z')).deleted).toEqual({ telemetry: 12 });
  expect(await harness.days('telemetry')).toEqual({ '2024-11-21': 6, '2024-11-22': 7, '2026-11-19': 20 });
  expect((await harness.partitions())[0]).toBe('2024_11');
});

test('while the inbox is being read, a run delays no request, and moves the rows as soon as it gets the lock', async () => {
  const reader = await harness.database.connect();
  await reader.query('begin; select count(*) from telemetry_inbox');
  await harness.receive({ '2026-11-19': 20 });
  const load = startTraffic();
  const query = jest.spyOn(pg.Client.prototype, 'query');
  const isAttempt = ([sql]: unknown[]) => String(sql).includes('lock table telemetry_inbox,');
  const run = harness.run('2026-11-20T00:05:00Z');
  // The run has waited for the lock, given up once and tries again.
  await Promise.race([run, until(async () => query.mock.calls.filter(isAttempt).length >= 2)]);
  query.mockRestore();
  await reader.query('rollback');
  reader.release();
  expect((await run).telemetry_rows_moved).toBe(20);
  const { slowest, slowestControl, beats } = await load.stop();
  expect(await harness.days('telemetry_inbox')).toEqual({ '2026-11-20': beats });
  expect(slowest).toBeLessThan(ANSWER_LIMIT_MS + CONTROL_FACTOR * slowestControl);
});

test('while a run drops months and moves and deletes thousands of rows, heartbeats and activations are answered in time', async () => {
  await harness.receive({ '2024-08-15': 4_000, '2024-11-20': 6_000, '2026-11-19': 6_000 });
  const load = startTraffic();
  const { deleted, telemetry_rows_moved } = await harness.run('2026-11-20T00:05:00Z');
  const { slowest, slowestControl, beats } = await load.stop();
  expect([telemetry_rows_moved, deleted['telemetry']]).toEqual([16_000, 10_012]);
  expect(await harness.days('telemetry_inbox')).toEqual({ '2026-11-20': beats });
  expect(slowest).toBeLessThan(ANSWER_LIMIT_MS + CONTROL_FACTOR * slowestControl);
});
