import { queryOne } from '../database/sql.js';
import { EntityManager } from 'typeorm';

/**
 * The payload of a job: ids of rows, the language of a mail and whether staff asked for an erasure, and no secrets or personal
 * data. A member that is undefined is left out.
 */
export type JobPayload = Readonly<Record<string, string | undefined>>;

interface JobOptions {
  /** A waiting job with the same key is replaced. A running one goes on, but loses its key and is not tried again. */
  readonly key: string;
  /** The job does not run before this time; the default is now. */
  readonly runAt?: Date;
  /** Jobs with a lower number run first; the default is 0. */
  readonly priority?: number;
}

/** Adds a durable job in the caller's transaction. */
export async function addJob(
  manager: EntityManager,
  task: string,
  payload: JobPayload,
  { key, runAt, priority }: JobOptions,
): Promise<void> {
  const sql =
    'select (graphile_worker.add_job($1, $2::json, job_key := $3, run_at := $4, priority := $5)).id';
  const job = [task, JSON.stringify(payload), key, runAt ?? null, priority ?? null];
  // `add_job` adds no job and returns null if the waiting job with this key starts between its statements. The next call takes the
  // key from the running job, and adds the job.
  while ((await queryOne<{ id: string | null }>(manager, sql, job)).id === null);
}

/** A failure of a job. Its message is stored with the job and logged, so it must contain no personal data. */
export class JobFailure extends Error {}
