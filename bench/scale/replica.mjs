import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { copyAsReplica } from '../load/base-backup.ts';
import { Server } from './server.mjs';

/** Starts a streaming replica of a server. @param folder must not exist yet */
export async function startReplica(primary, folder) {
  const { startEmbeddedPostgres } = await import('../../dist/database/embedded/embedded-postgres.js');
  mkdirSync(folder);
  const cluster = join(folder, 'postgres');
  await copyAsReplica(primary, cluster, 'scale');
  // A copy does not keep the mode of the directory, which PostgreSQL checks.
  chmodSync(cluster, 0o700);
  const { url, stop } = await startEmbeddedPostgres(folder);
  const server = await Server.open(url, folder);
  return { server, end: () => server.end().finally(stop) };
}

/** Waits until the replica has replayed what its primary has written. */
export async function waitForReplay(primary, replica) {
  const [{ lsn }] = await primary.query('select pg_current_wal_flush_lsn() as lsn');
  const hasReplayed = async () =>
    (await replica.query('select pg_last_wal_replay_lsn() >= $1::pg_lsn as done', [lsn]))[0].done;
  while (!(await hasReplayed())) await pause(50);
}
