import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { replaceStalePid } from '../../../src/database/embedded/pid-file.js';
import { endPostmaster, launch, serverSettings } from '../../../src/database/embedded/postgres-process.js';
import { copyAsReplica } from '../../../bench/load/base-backup.js';
import { TcpProxy, signalServer, type FragilePostgres } from './outage-harness.js';
import { temporaryFolder } from '../folders.js';
import { afterThisFile } from '../of-this-file.js';

const SETTINGS = {
  // Not durable, like every server of the tests.
  ...serverSettings(false),
  // The defaults, 5 and 10 seconds, would make tests wait.
  wal_retrieve_retry_interval: '100ms',
  wal_receiver_status_interval: '1s',
};

/** A streaming replica of the primary of a test. The URL of the replica does not change. */
export class StreamingReplica {
  readonly #directory = temporaryFolder();
  readonly #cluster = join(this.#directory, 'postgres');
  readonly #proxy = new TcpProxy();
  #pid = 0;

  private constructor(private readonly primary: FragilePostgres) {}

  /** @param slot the name of its replication slot, which no other replica of the primary has */
  static async of(primary: FragilePostgres, slot = 'replica'): Promise<StreamingReplica> {
    const replica = new StreamingReplica(primary);
    await replica.#proxy.open();
    afterThisFile(() => replica.end());
    await copyAsReplica(primary, replica.#cluster, slot);
    await replica.start();
    return replica;
  }

  get url(): string {
    const url = new URL(this.primary.url);
    url.port = String(this.#proxy.port);
    return url.href;
  }

  /** Starts the replica, also after it was killed. */
  async start(): Promise<void> {
    replaceStalePid(this.#cluster);
    const { pid, port } = await launch(this.#cluster, join(this.#directory, 'postgres.log'), SETTINGS);
    this.#pid = pid;
    this.#proxy.target = port;
    await this.#proxy.open();
  }

  async kill(): Promise<void> {
    this.#proxy.close();
    await endPostmaster(this.#pid, this.#cluster, 'SIGKILL');
  }

  /** Stops every process of the replica (SIGSTOP). The kernel accepts connections, which get no response. */
  freeze(): void {
    signalServer(this.#cluster, 'SIGSTOP');
  }

  thaw(): void {
    signalServer(this.#cluster, 'SIGCONT');
  }

  /** Makes the replica a primary, and waits until it accepts writes. */
  async promote(): Promise<void> {
    await this.sql('select pg_promote()');
  }

  /** Pauses the replay: the replica still receives what the primary writes, but does not apply it. */
  async pauseReplay(): Promise<void> {
    await this.sql('select pg_wal_replay_pause()');
    await this.#waitForCondition("pg_get_wal_replay_pause_state() = 'paused'");
  }

  async resumeReplay(): Promise<void> {
    await this.sql('select case when pg_is_in_recovery() then pg_wal_replay_resume() end');
  }

  /** Waits until the replica has applied everything that the primary has written. */
  async waitUntilCaughtUp(): Promise<void> {
    const [row] = await query<{ lsn: string }>(this.primary.url, 'select pg_current_wal_flush_lsn() as lsn');
    await this.#waitForCondition(`pg_last_wal_replay_lsn() >= '${row!.lsn}'`);
  }

  sql<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    return query<Row>(this.url, text, values);
  }

  async end(): Promise<void> {
    this.#proxy.close();
    await endPostmaster(this.#pid, this.#cluster, 'SIGQUIT', 'SIGKILL');
  }

  async #waitForCondition(condition: string): Promise<void> {
    // One connection for all attempts, because opening one takes the server longer than the statement.
    await withClient(this.url, async (client) => {
      const holds = async () =>
        (await client.query<{ holds: boolean }>(`select ${condition} as holds`)).rows[0]!.holds;
      while (!(await holds())) await pause(20);
    });
  }
}

/** Executes a statement over a new connection. */
export const query = <Row extends pg.QueryResultRow>(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> => withClient(url, async (client) => (await client.query<Row>(text, values)).rows);

/** Opens a connection for some work. */
export async function withClient<Value>(
  url: string,
  work: (client: pg.Client) => Promise<Value>,
): Promise<Value> {
  const client = new pg.Client(url);
  // If the server goes down meanwhile, the statement itself rejects.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
