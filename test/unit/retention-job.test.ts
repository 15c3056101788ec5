import { Writable } from 'node:stream';
import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { DataSource } from 'typeorm';
import { Clock } from '../../src/core/clock.js';
import { AppLogger } from '../../src/core/logger.js';
import type { ErasureService } from '../../src/erasure/erasure.service.js';
import { RetentionJob } from '../../src/retention/retention.job.js';
import type { RetentionReport, RetentionService } from '../../src/retention/retention.service.js';

const REPORT: RetentionReport = {
  as_of: new Date('2026-11-20T00:05:00Z'),
  telemetry_rows_moved: 5,
  weeks_counted: 1,
  activations_ended: 2,
  deleted: { session: 3, license: 4 },
  tables_rewritten: 6,
  failed: [],
};

// prettier-ignore
const ALL_BUT_TIMEOUTS = [
  'Date', 'hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'clearImmediate', 'setInterval',
  'clearInterval',
] as const;

/** The numbers of the levels in the log. */
const [INFO, WARNING, ERROR] = [30, 40, 50];

let logged: Record<string, unknown>[];
let calls: string[];
let hasLatestRun: () => Promise<boolean>;
beforeEach(() => void ([logged, calls, hasLatestRun] = [[], [], async () => false]));

function jobOf(
  retain: () => Promise<RetentionReport | null>,
  erase = async (): Promise<unknown> => ({ errors: [] }),
) {
  const sink = new Writable({
    write: (chunk, _encoding, next) => (logged.push(JSON.parse(String(chunk))), next()),
  });
  const retention = { run: () => (calls.push('retention'), retain()) } as unknown as RetentionService;
  const erasures = { runDue: () => (calls.push('erasures'), erase()) } as unknown as ErasureService;
  const database = { query: async () => [{ has_run: await hasLatestRun() }] } as unknown as DataSource;
  return new RetentionJob(retention, erasures, database, new Clock(), new AppLogger('info', sink));
}

/** The first call never ends; the later ones return the result. */
function hangOnce<T>(result: T): () => Promise<T> {
  const answers = [new Promise<never>(() => undefined)];
  return async () => answers.shift() ?? result;
}

const lines = () => logged.map((line) => ({ ...line, time: '' }));

test('a run logs what it did, in numbers', async () => {
  const job = jobOf(async () => REPORT);
  job.onApplicationBootstrap();
  await job.whenIdle();
  expect(calls).toEqual(['retention', 'erasures']);
  const counts = { telemetry_rows_moved: 5, weeks_counted: 1, activations_ended: 2 };
  expect(lines()).toEqual([
    { level: INFO, time: '', ...counts, rows_deleted: 7, tables_rewritten: 6, msg: expect.any(String) },
  ]);
});

test('a run logs in which tables it failed', async () => {
  const failed = ['license', 'session'].map((table) => ({ table, error: new TypeError(table) }));
  const job = jobOf(async () => ({ ...REPORT, failed }));
  job.run();
  await job.whenIdle();
  expect(lines().slice(1)).toEqual([
    expect.objectContaining({ level: ERROR, table: 'license' }),
    expect.objectContaining({ level: ERROR, table: 'session' }),
  ]);
});

test('a run logs each erasure that failed', async () => {
  const errors = ['one', 'two'].map((message) => new TypeError(message));
  const job = jobOf(
    async () => null,
    async () => ({ errors }),
  );
  job.run();
  await job.whenIdle();
  expect(logged.map(({ level, msg }) => [level, msg])).toEqual([
    [ERROR, 'erasure failed'],
    [ERROR, 'erasure failed'],
  ]);
});

test('if another instance runs retention, nothing is logged', async () => {
  const job = jobOf(async () => null);
  job.run();
  await job.whenIdle();
  expect([calls, logged]).toEqual([['retention', 'erasures'], []]);
});

test('a failure is logged, and the erasures and the next run still start', async () => {
  const fail = () => Promise.reject(new Error('broken'));
  const job = jobOf(fail, fail);
  job.run();
  await job.whenIdle();
  expect(logged.map(({ level, msg }) => [level, msg])).toEqual([
    [ERROR, 'retention run failed'],
    [ERROR, 'erasures failed'],
  ]);
  job.run();
  await job.whenIdle();
  expect(calls).toEqual(['retention', 'erasures', 'retention', 'erasures']);
});

test.each([
  ['the retention', () => jobOf(hangOnce(REPORT)), ['retention']],
  ['the erasures', () => jobOf(async () => null, hangOnce({ errors: [] })), ['retention', 'erasures']],
])(
  'if %s never ends, a warning says so after half an hour, and the next step and run start',
  async (_, makeJob, begun) => {
    const job = makeJob();
    jest.useFakeTimers({ doNotFake: [...ALL_BUT_TIMEOUTS] });
    try {
      job.run();
      await new Promise(setImmediate);
      jest.advanceTimersByTime(30 * 60_000 - 1);
      await new Promise(setImmediate);
      expect(calls).toEqual(begun);
      jest.advanceTimersByTime(1);
      await job.whenIdle();
      expect([calls, lines()]).toEqual([
        ['retention', 'erasures'],
        [expect.objectContaining({ level: WARNING })],
      ]);
      job.run();
      await job.whenIdle();
      expect([calls.length, jest.getTimerCount()]).toEqual([4, 0]);
    } finally {
      jest.useRealTimers();
    }
  },
);

test.each([
  ['a result', { outcome: 'result', level: INFO }],
  ['a failure', { outcome: 'failure', level: ERROR }],
])('%s of a step that took longer than half an hour is logged', async (_, { outcome, level }) => {
  const { promise, resolve, reject } = Promise.withResolvers<RetentionReport>();
  const job = jobOf(() => promise);
  jest.useFakeTimers({ doNotFake: [...ALL_BUT_TIMEOUTS] });
  try {
    job.run();
    jest.advanceTimersByTime(30 * 60_000);
    await job.whenIdle();
    if (outcome === 'result') resolve(REPORT);
    else reject(new Error('broken'));
    await new Promise(setImmediate);
    expect(logged.map((line) => line['level'])).toEqual([WARNING, level]);
  } finally {
    jest.useRealTimers();
  }
});

test('there is one run at a time, and a shutdown waits for it', async () => {
  const { promise, resolve } = Promise.withResolvers<RetentionReport>();
  const job = jobOf(() => promise);
  job.run();
  job.run();
  expect(calls).toEqual(['retention']);
  let isClosed = false;
  const closing = job.beforeApplicationShutdown().then(() => (isClosed = true));
  await new Promise(setImmediate);
  expect(isClosed).toBe(false);
  resolve(REPORT);
  await closing;
  expect(calls).toEqual(['retention', 'erasures']);
});

describe('a start', () => {
  test('does not repeat the run that was due last', async () => {
    const job = jobOf(async () => REPORT);
    hasLatestRun = async () => true;
    job.onApplicationBootstrap();
    await job.whenIdle();
    expect(calls).toEqual([]);
    job.run();
    await job.whenIdle();
    expect(calls).toEqual(['retention', 'erasures']);
  });

  test('runs the retention if it cannot read whether the last due run has taken place', async () => {
    const job = jobOf(async () => REPORT);
    hasLatestRun = async () => Promise.reject(new Error('the database does not answer'));
    job.onApplicationBootstrap();
    await job.whenIdle();
    expect(calls).toEqual(['retention', 'erasures']);
  });

  test.each([true, false])(
    'that still reads whether the last due run has taken place delays no hourly run (it has: %s)',
    async (has) => {
      const job = jobOf(async () => REPORT);
      const answer = Promise.withResolvers<boolean>();
      hasLatestRun = () => answer.promise;
      job.onApplicationBootstrap();
      job.run();
      answer.resolve(has);
      await job.whenIdle();
      expect(calls).toEqual(['retention', 'erasures']);
    },
  );
});
