import { EntityManager } from 'typeorm';

/** What a job holds: ids of rows, never a key, a code, an address or anything else that names a person. */
export type JobIds = Readonly<Record<string, string>>;

interface JobOptions {
  /** What it is about: one that waits under the same key is replaced. */
  readonly key?: string;
  /** Not before this. */
  readonly runAt?: Date;
  /** A lower number goes first. */
  readonly priority?: number;
}

/** Adds a durable job in the caller's transaction: what happened and the work it asks for are one. */
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

/** Why a job failed, in words of ours: they are kept with the job and logged, so they name nobody. */
export class JobFailure extends Error {}
