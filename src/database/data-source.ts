import pg from 'pg';
import { DataSource, type Logger } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import { DeadlineClient } from './deadline-client.js';
import { ReplicaClient } from './replica-client.js';
import { REQUEST_TIMEOUTS_MS } from './request-timeouts.js';
import { SingleReleasePool } from './single-release-pool.js';

/** TypeORM prints a failing query with its parameters, which are keys and e-mails; the filter logs what may be told. */
const silent: Logger = {
  logQuery() {},
  logQueryError() {},
  logQuerySlow() {},
  logSchemaBuild() {},
  logMigration() {},
  log() {},
};

/** Where the database is: DATABASE_URL, or the embedded server. A class, so that it can be asked for by name. */
export class DatabaseUrl {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  get value(): string {
    return this.#value;
  }
}

/** Connections an instance holds at most. Shared reads and inserts keep a heartbeat's need far below it. */
const POOL_SIZE = 12;

// What the code counts on, whatever the database or its role was set to: a count behind a lock must see what the lock
// waited for.
const SESSION = '-c timezone=UTC -c default_transaction_isolation=read\\ committed';
// A request asks for few rows. Of a column without statistics (decision 0009) the planner expects one row in two hundred,
// and among millions would start workers for them, or a compiler.
const FEW_ROWS = '-c jit=off -c max_parallel_workers_per_gather=0';

/** Parameters of an address that would take the place of what stands here. */
const RESERVED_PARAMETERS = [
  'options',
  'statement_timeout',
  'idle_in_transaction_session_timeout',
  'query_timeout',
  'lock_timeout',
];

/** The address without them; the options that a host demands stay, before ours. */
function addressAndOptions(url: string, session = SESSION): { url: string; options: string } {
  const address = new URL(url);
  const given = address.searchParams.get('options');
  for (const name of RESERVED_PARAMETERS) address.searchParams.delete(name);
  return { url: address.href, options: given ? `${given} ${session}` : session };
}

const common = (url: string) =>
  ({
    type: 'postgres',
    url,
    logger: silent,
    synchronize: false,
    installExtensions: false,
    migrationsTableName: 'schema_migration',
    // A connection that breaks while idle is replaced; the query that would have met it reports for itself.
    poolErrorHandler: () => undefined,
  }) satisfies PostgresDataSourceOptions;

/**
 * What holds for a request's connections. Whatever happens to the database, each answer or failure comes within 2
 * seconds (`REQUEST_LIMITS_MS`).
 */
const ofRequests = () => ({
  connectionTimeoutMillis: REQUEST_TIMEOUTS_MS.connection,
  statement_timeout: REQUEST_TIMEOUTS_MS.statement,
  // A connection costs the server more than keeping it: a burst after a quiet minute should find some.
  idleTimeoutMillis: 60_000,
  idle_in_transaction_session_timeout: REQUEST_TIMEOUTS_MS.idleInTransaction,
  keepAlive: true,
});
const APPLICATION = 'mooring';

/** The connections that requests use. */
export function requestDataSource(databaseUrl: string): PostgresDataSourceOptions {
  const { url, options } = addressAndOptions(databaseUrl, `${SESSION} ${FEW_ROWS}`);
  return {
    ...common(url),
    poolSize: POOL_SIZE,
    applicationName: APPLICATION,
    extra: { ...ofRequests(), Client: DeadlineClient, options },
  };
}

/** The connections of heartbeats to a replica (decision 0013): those of requests, but to a server that follows. */
export function replicaPool(replicaUrl: string): pg.Pool {
  const { url, options } = addressAndOptions(replicaUrl, `${SESSION} ${FEW_ROWS}`);
  const pool = new pg.Pool({
    ...ofRequests(),
    Client: ReplicaClient,
    connectionString: url,
    application_name: APPLICATION,
    max: POOL_SIZE,
    options,
  });
  pool.on('error', () => undefined);
  return pool;
}

/** Connections for work that takes its time: migrations, retention. */
export function maintenanceDataSource(
  databaseUrl: string,
  options: Partial<PostgresDataSourceOptions> = {},
): DataSource {
  const { url, options: session } = addressAndOptions(databaseUrl);
  return new DataSource({
    ...common(url),
    poolSize: 3,
    applicationName: 'mooring (maintenance)',
    extra: { connectionTimeoutMillis: 5_000, keepAlive: true, options: session },
    ...options,
  });
}

/** Does work that takes its time, over connections of its own that are closed after. */
export async function withMaintenanceConnection<T>(
  databaseUrl: string,
  work: (dataSource: DataSource) => Promise<T>,
  options: Partial<PostgresDataSourceOptions> = {},
): Promise<T> {
  const dataSource = await maintenanceDataSource(databaseUrl, options).initialize();
  try {
    return await work(dataSource);
  } finally {
    await dataSource.destroy();
  }
}

/** Connections of the job queue's own: mail that waits never keeps a request waiting. @param max how many at once */
export function jobsPool(databaseUrl: string, max = 4): pg.Pool {
  const { url, options } = addressAndOptions(databaseUrl);
  const pool = new SingleReleasePool({
    connectionString: url,
    // A host that is gone without a word is noticed within a minute, and its jobs are taken over.
    options: `${options} -c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3`,
    max,
    connectionTimeoutMillis: 5_000,
    statement_timeout: 10_000,
    keepAlive: true,
  });
  // One that breaks is replaced; what was asked of it fails by itself.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => void client.on('error', () => undefined));
  return pool;
}

/** The pool below a data source, for statements on the hot path: no query runner, no broadcast, named once for all. */
export function poolOf(dataSource: DataSource): pg.Pool {
  return (dataSource.driver as PostgresDriver).master as pg.Pool;
}
