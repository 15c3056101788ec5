import { chmodSync, cpSync } from 'node:fs';
import { join } from 'node:path';
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../../src/database/embedded/embedded-postgres.js';
import { temporaryFolder } from '../folders.js';
import { afterThisFile } from '../of-this-file.js';

/** Starts a PostgreSQL server of this test file with a migrated database. It ends with the file. */
export async function startOwnPostgres(directory = temporaryFolder()): Promise<EmbeddedPostgres> {
  copyMigratedCluster(directory);
  const server = await startEmbeddedPostgres(directory, { durable: false });
  afterThisFile(server.stop);
  return server;
}

/** Copies the files of a server with a migrated database (`global-setup.mjs`) into a data directory. */
export function copyMigratedCluster(directory: string): void {
  copyCluster(process.env['MOORING_TEST_CLUSTER']!, join(directory, 'postgres'));
}

/** Copies the files of a server that does not run. */
export function copyCluster(from: string, to: string): void {
  cpSync(from, to, { recursive: true });
  // A copy does not keep the mode of the directory, which PostgreSQL checks.
  chmodSync(to, 0o700);
}
