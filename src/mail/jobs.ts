import { EntityManager } from 'typeorm';

/** The payload of a job: ids of rows, and no secrets or personal data. */
export type JobIds = Readonly<Record<string, string>>;

interface JobOptions {
  /** A waiting job with the same key is replaced. */
  readonly key?: string;
  /** The earliest time of the job. */
  readonly runAt?: Date;
  /** Jobs with a lower number run first. */
  readonly priority?: number;
}

/** Adds a durable job in the caller's transaction. */
export async function addJob(
  manager: EntityManager,
  task: string,
  ids: JobIds,
  { key, runAt, priority }: JobOptions = {},
): Promise<void> {
  await manager.query(
    'select graphile_worker.add_job($1, $2::json, job_key := $3, run_at := $4, priority := $5)',
    [task, JSON.stringify(ids), key ?? null, runAt ?? null, priority ?? null],
  );
}

/** A failure whose message contains no personal data: it is stored with the job and logged. */
export class JobFailure extends Error {}
