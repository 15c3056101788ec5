import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../../src/database/embedded/embedded-postgres.js';
import { temporaryFolder } from '../folders.js';
import { afterThisFile } from '../of-this-file.js';

/** Starts a PostgreSQL server of this test file, which ends with the file. */
export async function startOwnPostgres(directory = temporaryFolder()): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres(directory, { durable: false });
  afterThisFile(server.stop);
  return server;
}
