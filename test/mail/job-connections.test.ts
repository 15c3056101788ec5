import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:net';
import { PassThrough } from 'node:stream';
import { expect, jest, test } from '@jest/globals';
import { Logger, runTaskList } from 'graphile-worker';
import type pg from 'pg';
import { DatabaseUrl, jobsPool } from '../../src/database/data-source.js';
import { JobsClient, JOBS_TIMEOUTS_MS } from '../../src/database/jobs-client.js';
import { AppLogger } from '../../src/core/logger.js';
import { JobWorker } from '../../src/mail/job-worker.js';
import { connect, createDatabase } from '../support/harness.js';
import { TcpProxy } from '../support/databases/outage-harness.js';
import { until } from '../support/until.js';
import { listen } from '../support/listen.js';

const database = await createDatabase();

/** Waits until LISTEN is sent. @returns a function that makes it fail, as if its connection broke */
function failingListen(pool: pg.Pool): Promise<() => void> {
  return new Promise((resolve) => {
    pool.on('connect', (client) => {
      const query = client.query.bind(client) as (...args: unknown[]) => unknown;
      const failing = (...args: unknown[]) =>
        String(args[0]).startsWith('LISTEN')
          ? new Promise((_, reject) => resolve(() => reject(new Error('Connection terminated unexpectedly'))))
          : query(...args);
      client.query = failing as typeof client.query;
    });
  });
}

test('workers that end while their LISTEN connection breaks cause no unhandled rejection', async () => {
  const pool = jobsPool(database.url, 4);
  const thrown: unknown[] = [];
  const listening = failingListen(pool);
  const workers = runTaskList(
    { noHandleSignals: true, logger: new Logger(() => () => undefined) },
    { task: () => undefined },
    pool,
  );
  const onRejection = (error: unknown) => void thrown.push(error);
  process.on('unhandledRejection', onRejection);
  try {
    const breakListen = await listening;
    const ended = workers.gracefulShutdown();
    breakListen();
    await Promise.allSettled([ended, workers.promise]);
    await pool.end();
    // An unhandled rejection is reported in the next turn of the event loop.
    await new Promise(setImmediate);
  } finally {
    process.off('unhandledRejection', onRejection);
  }
  expect(thrown).toEqual([]);
});

test('if a connection of the job queue is released twice, the second release has no effect', async () => {
  const pool = jobsPool(database.url, 4);
  const released: unknown[] = [];
  pool.on('release', () => void released.push(1));
  await new Promise<void>((resolve, reject) =>
    pool.connect((error, _client, release) => {
      if (error) return reject(error);
      release();
      release();
      resolve();
    }),
  );
  expect(released).toHaveLength(1);
  await pool.end();
});

/** Makes a job worker with one task in each of the two pools. */
function makeJobWorker(databaseUrl: string): JobWorker {
  const worker = new JobWorker(new DatabaseUrl(databaseUrl), new AppLogger('fatal', new PassThrough()));
  worker.register('task', async () => undefined);
  worker.register('code', async () => undefined, 'sign_in_codes');
  return worker;
}

test('workers can be stopped before they have started', async () => {
  const worker = makeJobWorker(database.url);
  worker.onApplicationBootstrap();
  await worker.beforeApplicationShutdown();
});

test('a job that is aborted at the shutdown has the reason that the service was stopped', async () => {
  const worker = makeJobWorker(database.url);
  const started = Promise.withResolvers<void>();
  worker.register('aborted', async (_payload, signal) => {
    started.resolve();
    await once(signal, 'abort');
    signal.throwIfAborted();
  });
  worker.onApplicationBootstrap();
  const pool = jobsPool(database.url, 4);
  await pool.query(`select graphile_worker.add_job('aborted', '{}')`);
  await started.promise;
  await worker.beforeApplicationShutdown();
  // The shutdown waits for a limited time only, so a slow machine stores the reason after it.
  const reason = async () =>
    (await pool.query<{ last_error: string | null }>('select last_error from graphile_worker.jobs')).rows[0]!
      .last_error;
  await until(async () => (await reason()) !== null);
  expect(await reason()).toBe('the service was stopped');
  await pool.end();
});

test('while the database is unavailable no worker is started, because each started one stays in memory', async () => {
  const startups: string[] = [];
  const unavailableDatabase = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (startup) => {
      startups.push(startup.toString('latin1'));
      socket.destroy();
      unavailableDatabase.emit('startup');
    });
  });
  const port = await listen(unavailableDatabase);
  const worker = makeJobWorker(`postgres://mooring@127.0.0.1:${port}/mooring`);
  worker.onApplicationBootstrap();
  // The two pools pause equally long between attempts, so each has tried more than once.
  while (startups.length < 5) await once(unavailableDatabase, 'startup');
  await worker.beforeApplicationShutdown();
  // The connections of a worker pool have its id, `pool-…`, as their name.
  expect(startups.filter((startup) => startup.includes('pool-'))).toEqual([]);
});

test('the connections of each queue have the name with which it locks its jobs', async () => {
  const { url } = await createDatabase();
  const observer = await connect(url);
  const select = async (sql: string) =>
    (await observer.query<{ value: string }>(sql)).rows.map(({ value }) => value);
  const lockers = () =>
    select('select locked_by as value from graphile_worker.jobs where locked_by is not null');
  const names = () =>
    select(`select application_name as value from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() order by 1`);
  const worker = makeJobWorker(url);
  const held = Promise.withResolvers<void>();
  worker.register('task', () => held.promise);
  worker.onApplicationBootstrap();
  try {
    await observer.query("select graphile_worker.add_job('task')");
    await until(async () => (await lockers()).length === 1);
    let found: string[] = [];
    const isComplete = () => found.length === 4 && found.every((name) => name.startsWith('pool-'));
    // A connection that is just being opened has no name yet. If one never gets a name, the expectations below show it.
    await until(async () => ((found = await names()), isComplete())).catch(() => undefined);
    const queues = [...new Set(found)];
    expect(queues).toEqual([expect.stringMatching(/^pool-/), expect.stringMatching(/^pool-/)]);
    expect(found).toEqual(queues.flatMap((name) => [name, name]));
    expect(queues).toContain((await lockers())[0]);
  } finally {
    held.resolve();
    await worker.beforeApplicationShutdown();
  }
});

/**
 * From `begin` on, a connection that was already in use ends after a second without an answer. Later connections have the usual
 * limit, because a slow machine would exceed the short one again and again.
 */
function shortenSilence(): { begin(): void } & Disposable {
  const earlier = new WeakSet<object>();
  let hasBegun = false;
  const silence = jest.spyOn(JobsClient.prototype as unknown as { silenceMs: number }, 'silenceMs', 'get');
  silence.mockImplementation(function (this: object) {
    if (!hasBegun) earlier.add(this);
    return hasBegun && earlier.has(this) ? 1_000 : JOBS_TIMEOUTS_MS.silence;
  });
  return { begin: () => (hasBegun = true), [Symbol.dispose]: () => silence.mockRestore() };
}

test.each(['task', 'code'])(
  'the queue of the task %s continues after all its connections were lost without an error',
  async (task) => {
    using limit = shortenSilence();
    const proxy = new TcpProxy();
    const url = new URL(database.url);
    proxy.target = Number(url.port);
    await proxy.open();
    url.port = String(proxy.port);
    const done = new EventEmitter();
    const worker = makeJobWorker(url.href);
    worker.register(task, async () => void done.emit('job'), task === 'code' ? 'sign_in_codes' : 'main');
    const observer = await connect(database.url);
    const loseConnections = () => {
      proxy.silence();
      limit.begin();
    };
    try {
      worker.onApplicationBootstrap();
      for (const begin of [() => undefined, loseConnections]) {
        begin();
        const job = once(done, 'job');
        await observer.query('select graphile_worker.add_job($1)', [task]);
        await job;
      }
    } finally {
      await worker.beforeApplicationShutdown();
    }
  },
);
