import { appendFileSync, cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import pg from 'pg';

/** A running server, and its folder. */
interface Primary {
  readonly url: string;
  readonly cluster: string;
}

/** The name of a segment of the write-ahead log. */
const SEGMENT = /^[0-9A-F]{24}$/;

/**
 * Copies the files of a running server and the write-ahead log that makes them consistent, as `pg_basebackup -X fetch` does. The
 * package of the embedded server does not contain that program.
 * @param to the target directory, which must not exist yet
 */
export async function baseBackup({ url, cluster }: Primary, to: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const started = await client.query<{ first: string }>(
      "select pg_walfile_name(pg_backup_start('backup', fast => true)) as first",
    );
    cpSync(cluster, to, { recursive: true, filter: belongsToBackup });
    const stopped = await client.query<{ last: string; labelfile: string }>(
      'select pg_walfile_name(lsn) as last, labelfile from pg_backup_stop(wait_for_archive => false)',
    );
    writeFileSync(join(to, 'backup_label'), stopped.rows[0]!.labelfile);
    copyWal(cluster, to, (name) => name >= started.rows[0]!.first && name <= stopped.rows[0]!.last);
  } finally {
    await client.end();
  }
}

/**
 * Copies the files of a running server as those of a streaming replica, which is not started.
 * @param slot the name of its replication slot, which no other replica of the primary has
 */
export async function copyAsReplica(primary: Primary, to: string, slot: string): Promise<void> {
  const client = new pg.Client(primary.url);
  await client.connect();
  // The slot makes the primary keep the write-ahead log that the replica has not received yet, also while the replica is down.
  await client
    .query('select pg_create_physical_replication_slot($1, true)', [slot])
    .finally(() => client.end());
  await baseBackup(primary, to);
  const { hostname, port, username, password } = new URL(primary.url);
  const connectionInfo = `host=${hostname} port=${port} user=${username} password=${password}`;
  const settings = `primary_conninfo = '${connectionInfo}'\nprimary_slot_name = '${slot}'\n`;
  appendFileSync(join(to, 'postgresql.auto.conf'), settings);
  writeFileSync(join(to, 'standby.signal'), '');
}

/** Adds the write-ahead log of a server, whether it runs or not, to the files of a backup. */
export function copyWal(
  cluster: string,
  to: string,
  wanted: (segment: string) => boolean = () => true,
): void {
  const segments = readdirSync(join(cluster, 'pg_wal')).filter((name) => SEGMENT.test(name) && wanted(name));
  mkdirSync(join(to, 'pg_wal'), { recursive: true });
  for (const name of segments) cpSync(join(cluster, 'pg_wal', name), join(to, 'pg_wal', name));
}

// Leaves out the process id file, the replication slots and the write-ahead log, whose needed segments `copyWal` copies.
function belongsToBackup(path: string): boolean {
  const [name, directory] = [basename(path), basename(dirname(path))];
  if (directory === 'pg_wal') return !SEGMENT.test(name);
  return !name.startsWith('postmaster.') && directory !== 'pg_replslot';
}
