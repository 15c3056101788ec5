import { EventEmitter } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { BeforeApplicationShutdown, Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { runTaskList, type TaskList, type WorkerEvents, type WorkerPool } from 'graphile-worker';
import type pg from 'pg';
import { ConfigError } from '../core/config-error.js';
import { errorFields, AppLogger } from '../core/logger.js';
import { LibraryOutput } from '../core/library-output.js';
import { waitAtShutdown } from '../core/shutdown-wait.js';
import { DatabaseUrl, jobsPool } from '../database/data-source.js';
import { OutageLog } from '../database/outage-log.js';
import { connectAndUnlock, releaseAs, unlockAbandonedJobs } from './abandoned-jobs.js';
import { queueLogger } from './job-queue-logger.js';
import { JobFailure, type JobPayload } from './jobs.js';

/**
 * The two worker pools of an instance. No job waits for a job of another pool (docs/decisions/0027). `concurrency` is the
 * number of concurrent jobs, which mostly wait for a mail server; `connections` is the number of database connections: one that
 * listens, and one for the statements of all jobs, which take about a millisecond each.
 */
const POOLS = {
  main: { concurrency: 5, connections: 2 },
  sign_in_codes: { concurrency: 1, connections: 2 },
} as const;
export type JobPool = keyof typeof POOLS;
/** The interval at which workers look for jobs that have become due. PostgreSQL notifies them of a new job at once. */
const JOB_POLL_INTERVAL_MS = 2_000;
/** The interval at which the jobs of killed instances are unlocked. */
const UNLOCK_INTERVAL_MS = 5_000;
/** When a worker pool shuts down, jobs that still run after this time are aborted. They are tried again later. */
const SHUTDOWN_GRACE_MS = 1_500;
/** The delay before an ended worker pool is started again. */
const RESTART_DELAY_MS = 1_000;

/** Runs a job. @param signal is aborted SHUTDOWN_GRACE_MS after the worker pool began to shut down */
type Task = (payload: JobPayload, signal: AbortSignal) => Promise<void>;

/**
 * Runs the durable jobs of `addJob` in the process that also answers requests. A failing job is tried 25 times over four
 * days, with growing delays. Another instance takes over the jobs of a killed one.
 */
@Injectable()
export class JobWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #tasks: Readonly<Record<JobPool, TaskList>> = { main: {}, sign_in_codes: {} };
  readonly #shutdown = new AbortController();
  readonly #workerPools: Partial<Record<JobPool, WorkerPool>> = {};
  #completedJobs = 0;
  #allPoolsEnded: Promise<unknown> = Promise.resolve();
  readonly #outageLog: OutageLog;
  readonly #libraryOutput: LibraryOutput;

  constructor(
    private readonly databaseUrl: DatabaseUrl,
    private readonly log: AppLogger,
  ) {
    this.#outageLog = new OutageLog(log, databaseUrl.value);
    this.#libraryOutput = new LibraryOutput(log);
  }

  /** The names of all registered tasks, of both pools. */
  get tasks(): string[] {
    return Object.values(this.#tasks).flatMap((tasks) => Object.keys(tasks));
  }

  /** Registers the handler of a task. This is possible only before the application has started. */
  register(name: string, task: Task, pool: JobPool = 'main'): void {
    this.#tasks[pool][name] = async (payload, { abortSignal }) => {
      try {
        await task(payload as JobPayload, abortSignal);
      } catch (error) {
        if (error === abortSignal.reason) throw new JobFailure(this.#abortReason());
        // The message is stored with the job. A message of the database driver may contain values of a row, so it is replaced.
        const isForOperators = error instanceof JobFailure || error instanceof ConfigError;
        throw isForOperators ? error : new JobFailure(describeError(error));
      }
    };
  }

  /** A worker pool ends at the shutdown of the service, or because it could not use the database. */
  #abortReason(): string {
    return this.#shutdown.signal.aborted
      ? 'the service was stopped'
      : 'the job queue was restarted after an error of the database';
  }

  onApplicationBootstrap(): void {
    const pools = Object.keys(POOLS) as JobPool[];
    this.#allPoolsEnded = Promise.all(pools.map((pool) => this.#keepRunning(pool)));
  }

  async beforeApplicationShutdown(): Promise<void> {
    const [startedAt, completedBefore] = [performance.now(), this.#completedJobs];
    // graphile-worker keeps the signal in memory. With an error (the default reason), its stack would keep this object there too.
    this.#shutdown.abort('shutdown');
    // `gracefulShutdown` rejects for a pool that has already ended.
    const shutdowns = Object.values(this.#workerPools).map(async (workerPool) =>
      workerPool.gracefulShutdown(),
    );
    await waitAtShutdown(Promise.allSettled([...shutdowns, this.#allPoolsEnded]));
    const milliseconds = Math.round(performance.now() - startedAt);
    this.log.info('jobs ended', { done: this.#completedJobs - completedBefore, milliseconds });
  }

  async #keepRunning(pool: JobPool): Promise<void> {
    const { signal } = this.#shutdown;
    while (!signal.aborted) {
      const connections = jobsPool(this.databaseUrl.value, POOLS[pool].connections);
      const events = this.#createEvents(connections);
      let unlockTimer: NodeJS.Timeout | undefined;
      try {
        // graphile-worker keeps each started pool in memory, so none is started while the database is unavailable.
        const client = await connectAndUnlock(connections, signal);
        this.#outageLog.succeeded();
        // A failure is ignored: without the database no job can be unlocked, and the next interval tries again.
        unlockTimer = setInterval(
          () => void unlockAbandonedJobs(connections).catch(() => undefined),
          UNLOCK_INTERVAL_MS,
        );
        const workerPool = this.#start(pool, connections, events);
        this.#workerPools[pool] = workerPool;
        await Promise.all([workerPool.promise, releaseAs(workerPool.id, client)]);
      } catch (error) {
        if (!signal.aborted && !this.#outageLog.reports(error)) this.log.failed('job worker ended', error);
      }
      clearInterval(unlockTimer);
      events.removeAllListeners();
      await connections.end();
      await wait(RESTART_DELAY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  #start(pool: JobPool, connections: pg.Pool, events: WorkerEvents): WorkerPool {
    const options = {
      concurrency: POOLS[pool].concurrency,
      pollInterval: JOB_POLL_INTERVAL_MS,
      gracefulShutdownAbortTimeout: SHUTDOWN_GRACE_MS,
      noHandleSignals: true,
      logger: queueLogger(this.#libraryOutput, this.#shutdown.signal),
      // 0 turns batching on. Without batching (-1, the default) a failed update of a finished job is an unhandled rejection,
      // which ends the process. A failed batch only ends the pool, and `#keepRunning` starts a new one.
      preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
      events,
    };
    return runTaskList(options, this.#tasks[pool], connections);
  }

  #createEvents(connections: pg.Pool): WorkerEvents {
    const events: WorkerEvents = new EventEmitter();
    // The connections get the name with which the pool locks its jobs (abandoned-jobs.ts).
    events.on('pool:create', ({ workerPool }) => {
      connections.options.application_name = workerPool.id;
    });
    // graphile-worker caches a failed lookup of the ids of its tasks, so every later fetch of a job fails too. The pool is
    // therefore ended after any failed fetch, and `#keepRunning` starts a new one.
    events.on('worker:getJob:error', ({ worker }) => {
      const shutDown = async () => worker.workerPool.gracefulShutdown();
      shutDown().catch(() => undefined);
    });
    events.on('job:success', () => void (this.#completedJobs += 1));
    events.on('job:error', ({ job, error }) => {
      const { task_identifier: task, id: job_id, attempts, max_attempts } = job;
      const fields = { task, job_id, attempts, max_attempts, reason: (error as Error).message };
      this.log.warning(attempts < max_attempts ? 'job failed' : 'job failed for good', fields);
    });
    return events;
  }
}

/** Describes an error without its message: the name, the code and the position in the source. */
function describeError(error: unknown): string {
  const { code, error: name, at } = errorFields(error);
  return [name, code, at].filter((part) => part !== undefined).join(' ');
}
