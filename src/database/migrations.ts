import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { DataSource, MigrationInterface, QueryRunner } from 'typeorm';
import { ConfigError } from '../core/config.js';
import { READ_ONLY } from './access-errors.js';
import { maintenanceDataSource, poolOf } from './data-source.js';
import { tryLock } from './locks.js';
import { refusePooler } from './pooler.js';
import { execute, queryOne, queryRows } from './sql.js';

const FOLDER = new URL('../../migrations/', import.meta.url);
/** The first line of a migration whose only statement runs outside a transaction, such as `create index concurrently`. */
const NO_TRANSACTION = '-- no-transaction';

/** The interval at which a start looks whether another instance has completed the migrations. */
const LOCK_INTERVAL_MS = 100;
/** After this many attempts to get the lock, a start prints that it waits. */
const ATTEMPTS_BEFORE_MESSAGE = 10;

/** Checks a migrated database. */
export type DatabaseCheck = (dataSource: DataSource) => Promise<void>;

/**
 * Applies the pending migrations, each once, also if several instances start together.
 * @param printMessage receives a sentence if another instance migrates for a second or longer
 * @param signal aborts this wait with an AbortError; then nothing was migrated
 * @param check is called with the migrated database, while its connections are open
 * @returns the names of the applied migrations
 * @throws ConfigError or ReadOnlyDatabase, as `requireUsableDatabase`
 */
export async function migrate(
  url: string,
  printMessage: (sentence: string) => void = () => undefined,
  signal?: AbortSignal,
  check?: DatabaseCheck,
): Promise<string[]> {
  const dataSource = maintenanceDataSource(url, { migrations: await migrationClasses() });
  await dataSource.initialize();
  const lock = dataSource.createQueryRunner();
  try {
    // This is checked before the lock is taken, because a pooler would keep the lock after the end of this process.
    await requireUsableDatabase(dataSource);
    // The lock is polled, because a waiting session has a snapshot, and a concurrent index build would wait for that session.
    for (let attempts = 1; !(await tryLock(lock, 'migrate')); attempts += 1) {
      if (attempts === ATTEMPTS_BEFORE_MESSAGE)
        printMessage('Waiting for another instance, which migrates the database.');
      await wait(LOCK_INTERVAL_MS, undefined, { signal });
    }
    // The tables of the job queue are created first, because a migration adds comments to them.
    await migrateJobs(dataSource);
    const applied = await dataSource.runMigrations({ transaction: 'each' });
    await check?.(dataSource);
    return applied.map(({ name }) => name);
  } finally {
    // Closing the connection releases the lock in any case.
    await lock.release();
    await dataSource.destroy();
  }
}

// Creates the tables of the job queue. graphile-worker is imported on demand: most commands only check for pending migrations.
async function migrateJobs(dataSource: DataSource): Promise<void> {
  const { Logger, runMigrations } = await import('graphile-worker');
  const pool = poolOf(dataSource);
  // graphile-worker warns of a pool without this listener. The query of a broken connection reports the error.
  pool.on('connect', (client) => void client.on('error', () => undefined));
  await runMigrations({ pgPool: pool, logger: new Logger(() => () => undefined) });
}

/**
 * @throws ConfigError if the URL leads to a pooler, to an old server, to a database with another encoding than UTF8, or to a
 *   database that a version of Mooring before the first release created @throws ReadOnlyDatabase
 */
export async function requireUsableDatabase(dataSource: DataSource): Promise<void> {
  await refusePooler(dataSource);
  await refuseServer(dataSource);
  await refusePrereleaseSchema(dataSource);
}

/** The oldest major version of PostgreSQL that Mooring uses (docs/operations/install.md). */
const REQUIRED_POSTGRES_MAJOR = 15;

/** The error of a database that accepts no writes, such as a standby. It is temporary, because a standby may be promoted. */
class ReadOnlyDatabase extends Error {
  readonly code = READ_ONLY;
}

const READ_SERVER = `
  select current_setting('server_version') as version, current_setting('server_encoding') as encoding,
    current_setting('transaction_read_only')::boolean as is_read_only`;

/**
 * @throws ConfigError if the server is older than REQUIRED_POSTGRES_MAJOR, or if the encoding of the database is not UTF8: another
 *   encoding cannot store every hostname hint @throws ReadOnlyDatabase
 */
async function refuseServer(dataSource: DataSource): Promise<void> {
  const { version, encoding, is_read_only } = await queryOne<{
    version: string;
    encoding: string;
    is_read_only: boolean;
  }>(dataSource, READ_SERVER);
  if (parseInt(version, 10) < REQUIRED_POSTGRES_MAJOR)
    throw new ConfigError(
      `Mooring needs PostgreSQL ${REQUIRED_POSTGRES_MAJOR} or later, and DATABASE_URL leads to version ${version}: upgrade the server.`,
    );
  if (encoding !== 'UTF8')
    throw new ConfigError(
      `The database of DATABASE_URL has the encoding ${encoding}: create it with encoding 'UTF8' template template0 (docs/operations/install.md).`,
    );
  if (is_read_only) throw new ReadOnlyDatabase('The database accepts no writes.');
}

/** @throws ConfigError if the database was created before the first release, with a different schema */
async function refusePrereleaseSchema(dataSource: DataSource): Promise<void> {
  const applied = await appliedMigrations(dataSource);
  if (applied.length > 0 && !applied.some((name) => name.startsWith('schema')))
    throw new ConfigError(
      'This database was created by a version before the first release: use a new database (in development: delete DATA_DIR).',
    );
}

/** Returns the names of the applied migrations. */
async function appliedMigrations(dataSource: DataSource): Promise<string[]> {
  const { exists } = await queryOne<{ exists: boolean }>(
    dataSource,
    `select to_regclass('schema_migration') is not null as exists`,
  );
  if (!exists) return [];
  const rows = await queryRows<{ name: string }>(dataSource, 'select name from schema_migration');
  return rows.map(({ name }) => name);
}

/** Returns the names of the migrations that are not applied, without applying them. */
export async function pendingMigrations(dataSource: DataSource): Promise<string[]> {
  const names = (await migrationClasses()).map((migration) => new migration().name);
  const applied = await appliedMigrations(dataSource);
  return names.filter((name) => !applied.includes(name));
}

/**
 * Creates a class for each file of `migrations/`. `0001_schema.sql` becomes the migration `schema0000000000001`, because TypeORM
 * orders migrations by the last 13 digits of a name.
 */
async function migrationClasses(): Promise<(new () => MigrationInterface & { name: string })[]> {
  const files = (await readdir(FOLDER)).filter((file) => /^\d{4}_\w+\.sql$/.test(file)).toSorted();
  return Promise.all(
    files.map(async (file) => {
      const sql = await readFile(new URL(file, FOLDER), 'utf8');
      const [, number, name] = /^(\d{4})_(\w+)\.sql$/.exec(file)!;
      return class implements MigrationInterface {
        readonly name = `${name}${number!.padStart(13, '0')}`;
        readonly transaction = !sql.startsWith(NO_TRANSACTION);

        async up(runner: QueryRunner): Promise<void> {
          await execute(runner, sql);
        }

        async down(): Promise<void> {
          throw new Error('Migrations go forward only.');
        }
      };
    }),
  );
}
