import { join } from 'node:path';
import { endPostmaster, launch, serverSettings } from '../../src/database/embedded/postgres-process.js';
import { temporaryFolder } from '../support/folders.js';
import { copyCluster } from '../support/databases/own-postgres.js';

/** A PostgreSQL server in a new directory that is restored from a copy of a backup. */
export class Restored {
  readonly #directory = temporaryFolder();
  readonly cluster = join(this.#directory, 'postgres');
  readonly #original: URL;
  #pid = 0;

  /**
   * @param backup the directory of the backup, which is not changed
   * @param originalUrl the URL of the lost server, whose role, password and database the backup contains
   */
  constructor(backup: string, originalUrl: string) {
    this.#original = new URL(originalUrl);
    copyCluster(backup, this.cluster);
  }

  /** Starts the server, and waits until it has recovered. @returns its URL */
  async start(settings: Record<string, string>): Promise<string> {
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
  }
}
