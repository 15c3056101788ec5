import { EventEmitter } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { BeforeApplicationShutdown, Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { Logger, runTaskList, type TaskList, type WorkerEvents, type WorkerPool } from 'graphile-worker';
import type pg from 'pg';
import { errorFields, AppLogger } from '../core/logger.js';
import { isConnectionError } from '../database/connection-errors.js';
import { DatabaseUrl, jobsPool } from '../database/data-source.js';
import { JobFailure, type JobIds } from './jobs.js';

/**
 * Pools of workers in one instance: a job never waits behind those of the other pool (docs/decisions/0027).
 * `concurrency` counts jobs under way at once, which wait for a mail server and not for us; `connections` are those to the
 * database.
 */
const POOLS = {
  main: { concurrency: 5, connections: 4 },
  sign_in_codes: { concurrency: 1, connections: 2 },
} as const;
/** A pool of workers by its name. */
export type JobPool = keyof typeof POOLS;
/** Between looks for jobs whose time has come; a new one is heard of at once. */
const POLL_MS = 2_000;
const RESCUE_MS = 5_000;
/** At the end, jobs under way get this long before they are told to give up; they are tried again later. */
const PATIENCE_MS = 1_500;
const RESTART_MS = 1_000;

// An instance that is killed leaves its jobs locked. Its connections bear the name it locks jobs with: where none does,
// nobody works at those jobs any more.
const RESCUE = `
  select graphile_worker.force_unlock_workers(array_agg(distinct locked_by))
  from graphile_worker.jobs
  where locked_by is not null and locked_by not in (select application_name from pg_stat_activity)
  having count(*) > 0`;

/** Does a job. @param signal tells it to give up: the service ends */
type Task = (ids: JobIds, signal: AbortSignal) => Promise<void>;

/**
 * Does the durable jobs of `addJob`, beside the requests and never in their way. A job that fails is tried again, later
 * and later, 25 times over four days; one whose instance was killed is taken over by another.
 */
@Injectable()
export class JobWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #tasks: Readonly<Record<JobPool, TaskList>> = { main: {}, sign_in_codes: {} };
  readonly #ending = new AbortController();
  readonly #workers: Partial<Record<JobPool, WorkerPool>> = {};
  #done = 0;
  #running: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly databaseUrl: DatabaseUrl,
    private readonly log: AppLogger,
  ) {}

  /** The kinds of job that there are. */
  get tasks(): string[] {
    return Object.values(this.#tasks).flatMap((tasks) => Object.keys(tasks));
  }

  /** Says how a kind of job is done. To be called before the application has started. */
  register(name: string, task: Task, pool: JobPool = 'main'): void {
    this.#tasks[pool][name] = async (ids, { abortSignal }) => {
      try {
        await task(ids as JobIds, abortSignal);
      } catch (error) {
        // What is thrown here is kept in the database; a driver's message may hold a row's values.
        throw error instanceof JobFailure ? error : new JobFailure(nameOf(error));
      }
    };
  }

  onApplicationBootstrap(): void {
    const pools = Object.keys(POOLS) as JobPool[];
    this.#running = Promise.all(pools.map((pool) => this.#keepRunning(pool)));
  }

  async beforeApplicationShutdown(): Promise<void> {
    const [started, before] = [performance.now(), this.#done];
    this.#ending.abort();
    // One that has ended by itself may refuse to end again.
    const ended = Object.values(this.#workers).map(async (workers) => workers.gracefulShutdown());
    await Promise.allSettled(ended);
    await this.#running;
    const milliseconds = Math.round(performance.now() - started);
    this.log.info('jobs ended', { done: this.#done - before, milliseconds });
  }

  async #keepRunning(pool: JobPool): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      const connections = jobsPool(this.databaseUrl.value, POOLS[pool].connections);
      const events = this.#events(connections);
      let rescuing: NodeJS.Timeout | undefined;
      try {
        // graphile-worker keeps in memory what it has started: while the database is away, nothing is started.
        await rescueOverOwn(connections);
        signal.throwIfAborted();
        // Where the database is away later there is nothing to rescue from it.
        rescuing = setInterval(() => void rescue(connections).catch(() => undefined), RESCUE_MS);
        const workers = this.#start(pool, connections, events);
        this.#workers[pool] = workers;
        await workers.promise;
      } catch (error) {
        if (!signal.aborted && !isConnectionError(error)) this.log.failed('job worker ended', error);
      }
      clearInterval(rescuing);
      events.removeAllListeners();
      await connections.end();
      await wait(RESTART_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  #start(pool: JobPool, connections: pg.Pool, events: WorkerEvents): WorkerPool {
    const options = {
      concurrency: POOLS[pool].concurrency,
      pollInterval: POLL_MS,
      gracefulShutdownAbortTimeout: PATIENCE_MS,
      noHandleSignals: true,
      // It would log messages of others; what is worth telling is told by its events.
      logger: new Logger(() => () => undefined),
      // Else nobody awaits what marks a job as done: where the database is cut off just then, the process would end.
      preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
      events,
    };
    return runTaskList(options, this.#tasks[pool], connections);
  }

  #events(connections: pg.Pool): WorkerEvents {
    const events: WorkerEvents = new EventEmitter();
    events.on('pool:create', ({ workerPool }) => {
      connections.options.application_name = workerPool.id;
    });
    // Once it fails to look its tasks up, graphile-worker never does again: such workers end, and others begin.
    events.on('worker:getJob:error', ({ worker }) => {
      const shutDown = async () => worker.workerPool.gracefulShutdown();
      shutDown().catch(() => undefined);
    });
    events.on('job:success', () => void (this.#done += 1));
    events.on('job:error', ({ job, error }) => {
      const { task_identifier: task, id: job_id, attempts, max_attempts } = job;
      const fields = { task, job_id, attempts, max_attempts, reason: (error as Error).message };
      this.log.warning(attempts < max_attempts ? 'job failed' : 'job failed for good', fields);
    });
    return events;
  }
}

async function rescue(connections: pg.Pool): Promise<void> {
  await connections.query(RESCUE);
}

/** Over a connection that is closed after: it is older than the workers, so it does not bear their name. */
async function rescueOverOwn(connections: pg.Pool): Promise<void> {
  const client = await connections.connect();
  await client.query(RESCUE).finally(() => client.release(true));
}

function nameOf(error: unknown): string {
  const { code, error: name, at } = errorFields(error);
  return [name, code, at].filter((part) => part !== undefined).join(' ');
}
