import type pg from 'pg';
import { execute, type SqlConnection } from '../database/sql.js';

// A killed instance leaves its jobs locked. An instance gives its database connections the name with which it locks jobs.
// So a job is abandoned if no connection has the name of its lock.
const UNLOCK = `
  select graphile_worker.force_unlock_workers(array_agg(distinct locked_by))
  from graphile_worker.jobs
  where locked_by is not null and locked_by not in (select application_name from pg_stat_activity)
  having count(*) > 0`;

/** Unlocks the jobs of killed instances. */
export async function unlockAbandonedJobs(connection: SqlConnection): Promise<void> {
  await execute(connection, UNLOCK);
}

/**
 * Unlocks the jobs of killed instances before a worker pool starts. @returns the connection that was used, to pass to `releaseAs`
 * @throws the reason of the signal, if it is aborted meanwhile
 */
export async function connectAndUnlock(connections: pg.Pool, signal: AbortSignal): Promise<pg.PoolClient> {
  const client = await connections.connect();
  try {
    await unlockAbandonedJobs(client);
    signal.throwIfAborted();
    return client;
  } catch (error) {
    client.release(true);
    throw error;
  }
}

/**
 * Returns a connection to its pool with this name, or closes it if that fails. It was opened before the worker pool had an id, so
 * without the name the locks of a worker that uses it would look abandoned.
 */
export async function releaseAs(name: string, client: pg.PoolClient): Promise<void> {
  await execute(client, "select set_config('application_name', $1, false)", [name]).then(
    () => client.release(),
    () => client.release(true),
  );
}
