import pg from 'pg';
import { DataSource, type Logger } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import { hostUrls } from '../core/host-list.js';
import { DeadlineClient } from './deadline-client.js';
import { DatabaseHosts, type WantedRole } from './database-hosts.js';
import { JOBS_TIMEOUTS_MS, JobsClient } from './jobs-client.js';
import { SearchingClient } from './searching-client.js';
import { ReplicaClient } from './replica-client.js';
import { REQUEST_TIMEOUTS_MS } from './request-timeouts.js';
import { SingleReleasePool } from './single-release-pool.js';

/** Replaces TypeORM's logger, which prints failing queries with their parameters. `ProblemFilter` logs the errors of requests. */
const silentLogger: Logger = {
  logQuery() {},
  logQueryError() {},
  logQuerySlow() {},
  logSchemaBuild() {},
  logMigration() {},
  log() {},
};

/** The URL of the database: DATABASE_URL, or that of the embedded server. This is a class, so that Nest can inject the URL. */
export class DatabaseUrl {
  constructor(readonly value: string) {}
}

/** The largest number of connections of an instance for requests, to each server. Heartbeats need few, as they share statements. */
const POOL_SIZE = 12;

// Settings that the code relies on, regardless of the defaults of the database or the role. The driver reads times in the style
// ISO only, and takes others for null: a machine that was released would count as active. The isolation level is READ COMMITTED,
// because a count under a lock must include what the previous holder of the lock committed. The patterns in statements have
// backslashes, which are no escapes.
const SESSION_SETTINGS =
  '-c timezone=UTC -c datestyle=ISO -c standard_conforming_strings=on -c default_transaction_isolation=read\\ committed';
// Requests read few rows. For a column without statistics (docs/decisions/0009) the planner expects one row in two hundred. In
// a table of millions of rows it would therefore use parallel workers or JIT compilation.
const REQUEST_SETTINGS = `${SESSION_SETTINGS} -c jit=off -c max_parallel_workers_per_gather=0`;
// A job or a command may take long, a transaction waits while the receiver of events answers, the connection with the lock of the
// migrations is idle while they run, and one that listens is always idle. So the limits of the database or the role are turned
// off. A pool may still set limits of its own (`jobsPool`). With the keepalive settings PostgreSQL detects within a minute that the
// host of an instance has disappeared, and ends its sessions. Other instances then get its jobs and locks.
const NO_LIMITS =
  '-c statement_timeout=0 -c lock_timeout=0 -c idle_in_transaction_session_timeout=0 -c idle_session_timeout=0';
const BACKGROUND_SETTINGS = `${SESSION_SETTINGS} ${NO_LIMITS} -c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3`;

/** The parameters of a database URL that would override the settings and time limits of this file. */
const RESERVED_PARAMETERS = [
  'options',
  'statement_timeout',
  'idle_in_transaction_session_timeout',
  'query_timeout',
  'lock_timeout',
];

/**
 * Separates a database URL into a URL without the reserved parameters and the settings of a pool.
 * @returns `url` with the first host alone; in `pool`, `hosts` has all hosts if there are several, and `options` has the options of
 *   the URL before the session settings, because PostgreSQL applies the later of two values
 */
function addressAndOptions(url: string, sessionSettings: string, wanted: WantedRole = 'primary') {
  const address = new URL(hostUrls(url)[0]!);
  const urlOptions = address.searchParams.get('options');
  for (const name of RESERVED_PARAMETERS) address.searchParams.delete(name);
  const options = urlOptions ? `${urlOptions} ${sessionSettings}` : sessionSettings;
  const hosts = DatabaseHosts.of(url, wanted);
  return { url: address.href, pool: { Client: SearchingClient, options, ...(hosts && { hosts }) } };
}

/** The options of all TypeORM data sources. */
const commonOptions = (url: string) =>
  ({
    type: 'postgres',
    // TypeORM would load the driver by its name, which a bundle does not have.
    driver: pg,
    url,
    logger: silentLogger,
    synchronize: false,
    installExtensions: false,
    migrationsTableName: 'schema_migration',
    // An idle connection that breaks is replaced. Queries report their own errors.
    poolErrorHandler: () => undefined,
  }) satisfies PostgresDataSourceOptions;

/**
 * Returns the pool options for the connections of requests. `REQUEST_TIMEOUTS_MS` says what the time limits achieve. They are read
 * for each pool, because tests change them before they start a service.
 */
const requestPoolOptions = () => ({
  connectionTimeoutMillis: REQUEST_TIMEOUTS_MS.connection,
  statement_timeout: REQUEST_TIMEOUTS_MS.statement,
  // Opening a connection is expensive. Idle connections stay open for a minute, so that the next burst of requests can use them.
  idleTimeoutMillis: 60_000,
  idle_in_transaction_session_timeout: REQUEST_TIMEOUTS_MS.idleInTransaction,
  keepAlive: true,
});
/** The name of the connections of requests in `pg_stat_activity`. */
const APPLICATION_NAME = 'mooring';

/** Returns the options of the data source that requests use. */
export function requestDataSourceOptions(databaseUrl: string): PostgresDataSourceOptions {
  const { url, pool } = addressAndOptions(databaseUrl, REQUEST_SETTINGS);
  return {
    ...commonOptions(url),
    poolSize: POOL_SIZE,
    applicationName: APPLICATION_NAME,
    extra: { ...requestPoolOptions(), ...pool, Client: DeadlineClient },
  };
}

/** Creates the pool of connections to a replica, for heartbeats (docs/decisions/0013), with the options of requests. */
export function replicaPool(replicaUrl: string): pg.Pool {
  const { url, pool: options } = addressAndOptions(replicaUrl, REQUEST_SETTINGS, 'standby');
  const pool = new pg.Pool({
    ...requestPoolOptions(),
    ...options,
    Client: ReplicaClient,
    connectionString: url,
    application_name: APPLICATION_NAME,
    max: POOL_SIZE,
  });
  pool.on('error', () => undefined);
  return pool;
}

/** Creates a data source without a time limit for statements, for migrations, retention, erasures, commands and long refunds. */
export function maintenanceDataSource(
  databaseUrl: string,
  options: Partial<PostgresDataSourceOptions> = {},
): DataSource {
  const { url, pool } = addressAndOptions(databaseUrl, BACKGROUND_SETTINGS);
  return new DataSource({
    ...commonOptions(url),
    poolSize: 3,
    applicationName: 'mooring (maintenance)',
    extra: { connectionTimeoutMillis: REQUEST_TIMEOUTS_MS.maintenanceConnection, keepAlive: true, ...pool },
    ...options,
  });
}

/** Passes a connected maintenance data source to `work`. Afterwards it closes all connections, also those of query runners. */
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

/** Creates a pool for the job queue or for events, so that they never delay requests. @param max the most connections */
export function jobsPool(databaseUrl: string, max: number): pg.Pool {
  const { url, pool: options } = addressAndOptions(databaseUrl, BACKGROUND_SETTINGS);
  const pool = new SingleReleasePool({
    ...options,
    Client: JobsClient,
    connectionString: url,
    max,
    application_name: 'mooring (jobs)',
    // All connections may be in use until their statements fail, at the latest after `silence`. So the limit of a wait
    // for one is longer.
    connectionTimeoutMillis: JOBS_TIMEOUTS_MS.silence + 1_000,
    statement_timeout: JOBS_TIMEOUTS_MS.statement,
    keepAlive: true,
  });
  // A broken connection is replaced. Its query reports the error. graphile-worker warns of a pool without the second listener.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => void client.on('error', () => undefined));
  return pool;
}

/** Returns the pool of a data source. Frequent requests use it for prepared statements, without TypeORM's query runner. */
export function poolOf(dataSource: DataSource): pg.Pool {
  return (dataSource.driver as PostgresDriver).master as pg.Pool;
}
