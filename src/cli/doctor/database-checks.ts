import type { Clock } from '../../core/clock.js';
import { Config, ConfigError } from '../../core/config.js';
import { connectionErrorCode, connectionRefusal, databaseAddress } from '../../database/access-errors.js';
import { isTemporaryDatabaseError } from '../../database/temporary-errors.js';
import { replicaPool, withMaintenanceConnection } from '../../database/data-source.js';
import { databaseTime } from '../../database/database-clock.js';
import { DatabaseHosts } from '../../database/database-hosts.js';
import { HOST_ROLES } from '../../database/host-warnings.js';
import { requireMigrationRights } from '../../database/migration-rights.js';
import { pendingMigrations, requireUsableDatabase } from '../../database/migrations.js';
import { databaseFailure } from '../../database/open-database.js';
import { queryOne, queryPrepared } from '../../database/sql.js';
import { READ_ACTIVATIONS } from '../../heartbeat/activation-reads.js';
import { readExistingLicenseKeys } from '../../keys/key-material.js';
import { License } from '../../licenses/license.entity.js';
import { checkKeySettings, requireKeySettingsOfDatabase } from '../../licenses/license-key-secret.js';
import { findManifestContradictions } from '../../manifest/manifest-settings.js';
import { createWarningsService } from '../context/warnings.js';
import { COMMAND_ENTITIES, loadManifestService, type CommandContext } from '../context/command-context.js';
import { CommandError } from '../terminal/output.js';
import { checkClock } from './clock-check.js';
import type { Report } from './report.js';

/** Checks the database, and what `mooring status` warns of. */
export async function checkDatabase(config: Config, clock: Clock, report: Report): Promise<void> {
  const url = config.databaseUrl ?? (await findEmbedded(config));
  if (!url) return report.run('database', checkEmbedded);
  try {
    await withMaintenanceConnection(
      url,
      async (dataSource) => checkOpenDatabase({ config, clock, dataSource, databaseUrl: url }, report),
      { entities: COMMAND_ENTITIES },
    );
  } catch (error) {
    report.fail('database', await databaseFailure(error, url));
  }
  checkHosts(url, report);
}

/** Reports the role of each host of a DATABASE_URL with several hosts. The roles were read when the connection was opened. */
function checkHosts(url: string, report: Report): void {
  for (const { host, role, error } of DatabaseHosts.of(url)?.roles ?? []) {
    const reason = error === undefined ? '' : ` (${connectionErrorCode(error)})`;
    const text = `${host} ${HOST_ROLES[role]}${reason}`;
    if (role === 'primary' || role === 'standby') report.ok('host', `${text}.`);
    else report.warn('host', `${text}: docs/operations/failover.md names the remedy.`);
  }
}

// The embedded server is imported on demand, because a process with DATABASE_URL does not need it.
async function findEmbedded({ dataDir }: Config): Promise<string | null> {
  const { findEmbeddedPostgres } = await import('../../database/embedded/embedded-postgres.js');
  return (await findEmbeddedPostgres(dataDir))?.url ?? null;
}

async function checkEmbedded(): Promise<string> {
  await (await import('../../database/embedded/postgres-process.js')).binaries();
  return 'DATABASE_URL is not set: the service starts an embedded PostgreSQL in DATA_DIR.';
}

async function checkOpenDatabase(context: CommandContext, report: Report): Promise<void> {
  const { dataSource, databaseUrl, clock } = context;
  await requireUsableDatabase(dataSource);
  const { version } = await queryOne<{ version: string }>(
    dataSource,
    "select current_setting('server_version') as version",
  );
  report.ok('database', `PostgreSQL ${version} at ${databaseAddress(databaseUrl)} answers.`);
  const pending = await pendingMigrations(dataSource);
  // The role of the embedded PostgreSQL cannot be chosen.
  if (context.config.databaseUrl)
    await report.run('role', () => checkRole(context, pending.length > 0, report));
  await report.run('clock', async () => {
    const asked = clock.now();
    const time = await databaseTime(dataSource);
    return checkClock({ asked, time, answered: clock.now() }, report);
  });
  // The other checks need the tables.
  if (pending.length > 0)
    return report.warn(
      'schema',
      `The database lacks ${pending.join(', ')}: run mooring migrate, or start the service.`,
    );
  report.ok('schema', 'All migrations are applied.');
  await report.run('secret', () => checkSecret(context));
  await checkContent(context, report);
}

const SELECT_ROLE = `
  select current_user as role, r.rolsuper as is_superuser, pg_has_role(d.datdba, 'usage') as is_owner
  from pg_roles r, pg_database d where r.rolname = current_user and d.datname = current_database()`;

/** Checks the role of DATABASE_URL (docs/operations/install.md). */
async function checkRole(
  { dataSource, databaseUrl }: CommandContext,
  mustMigrate: boolean,
  report: Report,
): Promise<string | void> {
  const { role, is_superuser, is_owner } = await queryOne<{
    role: string;
    is_superuser: boolean;
    is_owner: boolean;
  }>(dataSource, SELECT_ROLE);
  const remedy = '(docs/operations/install.md)';
  const warn = (text: string) => report.warn('role', `The role ${role} ${text} ${remedy}.`);
  if (is_superuser) return warn('is a superuser: use a role that only owns this database');
  if (mustMigrate) await requireMigrationRights(dataSource, databaseUrl);
  if (!is_owner) return warn('does not own the database: make it the owner, for migrations');
  return `The role ${role} owns the database, and is no superuser.`;
}

/** Checks the secret and the prefix with the code of a start, in a transaction that is rolled back. */
async function checkSecret({ config, clock, dataSource }: CommandContext): Promise<string> {
  const keys = await readExistingLicenseKeys(config);
  const first = 'The first start stores a check value of the license key secret, and LICENSE_KEY_PREFIX.';
  if (!keys) return first;
  const { isStored, isPrefixStored, fault } = await checkKeySettings(dataSource, keys, config);
  const runner = dataSource.createQueryRunner();
  await runner.startTransaction();
  try {
    await requireKeySettingsOfDatabase(runner, keys, config, clock.now(), { isStart: true });
    if (!isStored) return first;
    if (isPrefixStored && !fault)
      return 'The license key secret and LICENSE_KEY_PREFIX are those of the database.';
    const after = await checkKeySettings(runner, keys, config);
    return after.isPrefixStored
      ? 'The license key secret is that of the database. The next start stores LICENSE_KEY_PREFIX.'
      : 'The license key secret is that of the database. No start stores LICENSE_KEY_PREFIX yet, because most license keys were not made with it.';
  } finally {
    await runner.rollbackTransaction();
    await runner.release();
  }
}

/** Checks the data as `mooring status` does, and names what a new service lacks. */
async function checkContent(context: CommandContext, report: Report): Promise<void> {
  const manifests = await loadManifestService(context);
  const warnings = await createWarningsService(context, manifests);
  // `checkSecret` reports a wrong secret or prefix.
  const texts = warnings.derive({ ...(await warnings.readState()), key_settings_fault: undefined });
  // A contradiction is a failure here, because a setting must be corrected.
  const contradictions = findManifestContradictions(manifests.live, context.config);
  for (const text of texts) if (!contradictions.includes(text)) report.warn('warning', text);
  for (const text of contradictions) report.fail('manifest', new ConfigError(text));
  const content = manifests.live?.content;
  const manifest = content && `version ${content.version}, valid until ${content.expires_at}`;
  if (contradictions.length === 0)
    report.ok(
      'manifest',
      manifest ? `The live manifest offers ${manifest}.` : 'No manifest is published yet.',
    );
  if (context.config.isProduction && !(await context.dataSource.manager.exists(License)))
    report.warn(
      'licenses',
      'The database has no license, so every activation is answered with 503: issue or import the first one, or correct DATABASE_URL.',
    );
}

const READ_CLUSTER = 'select system_identifier::text as id from pg_control_system()';

/** Checks that DATABASE_READ_URL leads to a replica of the database (docs/operations/replicas.md). */
export async function checkReplica(config: Config, report: Report): Promise<void> {
  const { databaseUrl, databaseReadUrl: url } = config;
  if (!url || !databaseUrl) return;
  const pool = replicaPool(url);
  try {
    const [replica] = await queryPrepared<{ id: string }>(pool, { name: 'read cluster', text: READ_CLUSTER });
    // A fault of the primary is reported by the check of the database.
    const primary = await withMaintenanceConnection(databaseUrl, (dataSource) =>
      queryOne<{ id: string }>(dataSource, READ_CLUSTER),
    ).catch(() => null);
    if (primary !== null && replica!.id !== primary.id)
      throw new ConfigError(
        'DATABASE_READ_URL leads to a replica of another server: give a replica of the server in DATABASE_URL.',
      );
    // This fails where heartbeats would, such as without the right to read a column.
    await queryPrepared(pool, { name: 'read activations', text: READ_ACTIVATIONS, values: [[]] });
    report.ok('replica', `The replica at ${databaseAddress(url)} answers.`);
  } catch (error) {
    report.fail('replica', replicaError(error, url));
  } finally {
    await pool.end();
  }
}

function replicaError(error: unknown, url: string): unknown {
  if (/is not a standby/.test(String(error)))
    return new ConfigError(
      'DATABASE_READ_URL leads to a server that is no replica: give a streaming replica (docs/operations/replicas.md).',
    );
  const refusal = connectionRefusal(error, url, 'DATABASE_READ_URL');
  if (refusal || !isTemporaryDatabaseError(error)) return refusal ?? error;
  return new CommandError(
    `The replica at ${databaseAddress(url)} does not answer (${connectionErrorCode(error)}): start it, or correct DATABASE_READ_URL.`,
  );
}
