import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import pg from 'pg';
import { endPostmaster, launch, serverSettings } from '../../../src/database/embedded/postgres-process.js';

/** The name of a segment of the write-ahead log. */
const SEGMENT = /^[0-9A-F]{24}$/;

/**
 * Copies the files of a running server and the write-ahead log that makes them consistent, as `pg_basebackup -X fetch` does. The
 * package of the embedded server does not contain that program.
 * @param to the target directory, which must not exist yet
 */
export async function baseBackup({ url, cluster }: { url: string; cluster: string }, to: string) {
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

/** Adds the write-ahead log of a server, whether it runs or not, to the files of a backup. */
export function copyWal(cluster: string, to: string, wanted: (segment: string) => boolean = () => true) {
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

/** A PostgreSQL server in a new directory that is restored from a copy of a backup. */
export class Restored {
  readonly #directory = mkdtempSync(join(tmpdir(), 'mooring-restored-'));
  readonly cluster = join(this.#directory, 'postgres');
  readonly #original: URL;
  #pid = 0;

  /**
   * @param backup the directory of the backup, which is not changed
   * @param originalUrl the URL of the lost server, whose role, password and database the backup contains
   */
  constructor(backup: string, originalUrl: string) {
    this.#original = new URL(originalUrl);
    cpSync(backup, this.cluster, { recursive: true });
    // A copy does not keep the mode of the directory, which PostgreSQL checks.
    chmodSync(this.cluster, 0o700);
  }

  /** Starts the server, and waits until it has recovered. @returns its URL */
  async start(settings: Record<string, string> = {}): Promise<string> {
    const log = join(this.#directory, 'postgres.log');
    const notDurable = serverSettings(false);
    const { pid, port } = await launch(this.cluster, log, { ...notDurable, ...settings });
    this.#pid = pid;
    const url = new URL(this.#original);
    url.port = String(port);
    return url.href;
  }

  async end(): Promise<void> {
    if (this.#pid) await endPostmaster(this.#pid, this.cluster, 'SIGQUIT', 'SIGKILL');
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
