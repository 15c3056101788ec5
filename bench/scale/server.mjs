import { join } from 'node:path';
import pg from 'pg';
import { readServerTime } from '../load/processes.mjs';

/** An embedded PostgreSQL server with its process, and a connection for the queries of the bench. */
export class Server {
  /** @param folder the data directory of the embedded server */
  static async open(url, folder) {
    const { readPidFile } = await import('../../dist/database/embedded/pid-file.js');
    const server = new Server();
    server.url = url;
    server.cluster = join(folder, 'postgres');
    server.pid = readPidFile(server.cluster).pid;
    server.client = new pg.Client({ connectionString: url });
    // On an interrupt the server ends before this connection, which is no error.
    server.client.on('error', () => undefined);
    await server.client.connect();
    return server;
  }

  /** @returns the rows of a statement */
  async query(sql, values) {
    return (await this.client.query(sql, values)).rows;
  }

  /** The processor time of all processes of the server so far (load/processes.mjs). */
  time() {
    return readServerTime(this.pid);
  }

  end() {
    return this.client.end();
  }
}
