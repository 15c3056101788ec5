import pg from 'pg';
import { migrate } from '../../../src/database/migrations.js';
import { FragilePostgres } from '../../support/databases/outage-harness.js';
import { StreamingReplica } from '../../support/databases/replica-harness.js';
import { licenseKeys, SETTINGS, type Deployment } from './deployment.js';
import { InstanceProcess } from './instance-process.js';
import { temporaryFolder } from '../../support/folders.js';

// A connection with a statement in progress is preferred, because the end of an idle one has no effect.
const KILL_BACKEND = `
  select pg_terminate_backend(pid) from pg_stat_activity
  where application_name = 'mooring' and pid <> pg_backend_pid() order by state = 'idle', random() limit 1`;

/** Two instances, each in its own process, with a primary and a replica. Faults affect all four. */
export class FaultedDeployment implements Deployment {
  readonly keys = licenseKeys;
  readonly instances: InstanceProcess[] = [];
  replica!: StreamingReplica;
  readonly #directory = temporaryFolder();
  #database: pg.Pool | undefined;

  /** Errors of processes that have ended, and unexpected ends of processes. */
  readonly #processErrors: string[] = [];

  private constructor(readonly primary: FragilePostgres) {}

  static async start(): Promise<FaultedDeployment> {
    const deployment = new FaultedDeployment(await FragilePostgres.start());
    try {
      await deployment.#begin();
    } catch (error) {
      await deployment.close();
      throw error;
    }
    return deployment;
  }

  async #begin(): Promise<void> {
    const { primary } = this;
    await migrate(primary.url);
    this.replica = await StreamingReplica.of(primary);
    this.#database = new pg.Pool({ connectionString: primary.url, max: 4 });
    this.#database.on('error', () => undefined);
    const settings: Record<string, string> = {
      ...SETTINGS,
      DATA_DIR: this.#directory,
      DATABASE_URL: primary.url,
    };
    // Only the first instance uses the replica. The second one always reads the primary.
    const withReplica = { ...settings, DATABASE_READ_URL: this.replica.url };
    for (const instanceSettings of [withReplica, settings])
      this.instances.push(await InstanceProcess.start(instanceSettings, this.#processErrors));
  }

  /** Errors that no fault explains: an instance ended by itself, or logged an unexpected error. */
  get errors(): string[] {
    return [...this.#processErrors, ...this.instances.flatMap(({ unexpectedErrors }) => unexpectedErrors)];
  }

  now(): number {
    return Date.now();
  }

  /** Executes a statement, and repeats it if a fault breaks the connection. So the statement may be executed several times. */
  async sql(text: string, values: unknown[] = []): Promise<unknown> {
    for (;;) {
      try {
        return (await this.#database!.query(text, values)).rows;
      } catch (error) {
        // An error of the statement itself has a code of class 22, 23 or 42. All others are effects of a fault.
        if (/^(22|23|42)/.test((error as { code?: string }).code ?? '')) throw error;
      }
    }
  }

  async cutClients(instance: number): Promise<void> {
    this.instances[instance]!.cutConnections();
  }

  /** Ends the server process of one connection of an instance. */
  async killBackend(): Promise<void> {
    await this.sql(KILL_BACKEND);
  }

  async setClockOffset(instance: number, offsetMs: number): Promise<void> {
    await this.instances[instance]!.setClockOffset(offsetMs);
  }

  /** Kills an instance and starts it again. Its clients use the other one meanwhile. */
  async killInstance(instance: number): Promise<void> {
    await this.waitUntilAllUp();
    await this.instances[instance]!.kill();
  }

  async waitUntilAllUp(): Promise<void> {
    for (const instance of this.instances) await instance.waitUntilUp();
  }

  async close(): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance.end()));
    await this.#database?.end();
    this.replica?.thaw();
    await this.replica?.end();
    await this.primary.end();
  }
}
