import type { DataSource } from 'typeorm';
import { Activation } from '../../activation/activation.entity.js';
import { Clock } from '../../core/clock.js';
import { Config } from '../../core/config.js';
import { DatabaseUrl, withMaintenanceConnection } from '../../database/data-source.js';
import { pendingMigrations } from '../../database/migrations.js';
import { databaseFailure, migrateWhenReachable, openDatabase } from '../../database/open-database.js';
import { AppLogger } from '../../core/logger.js';
import { readLicenseKeys } from '../../keys/key-material.js';
import type { LicenseKeys } from '../../keys/license-keys.js';
import { ManifestKeys } from '../../keys/manifests/manifest-keys.js';
import { License } from '../../licenses/license.entity.js';
import { requireKeySettingsOfDatabase } from '../../licenses/license-key-secret.js';
import { LicensesService } from '../../licenses/licenses.service.js';
import { ManifestService } from '../../manifest/manifest.service.js';
import { PurchasesService } from '../../purchases/purchases.service.js';
import { ErasureRecords } from '../../erasure/erasure-records.js';
import { ErasureService } from '../../erasure/erasure.service.js';
import { CommandError, printMessage } from '../terminal/output.js';

/** The entities that commands read or write. */
export const COMMAND_ENTITIES = [License, Activation];

/** What a command uses to construct services. Nest does not construct them, because its start takes longer than most commands. */
export interface CommandContext {
  readonly config: Config;
  readonly clock: Clock;
  readonly dataSource: DataSource;
  /** The URL of the database, also if it is the embedded one. */
  readonly databaseUrl: string;
}

/**
 * Opens the database, passes it to `work` with the names of the migrations that were applied, and closes it, whether or not the
 * service runs at the same time. Pending migrations are always applied to the embedded database, and to another database only with
 * `mayMigrate`; otherwise they are an error.
 * @throws CommandError if migrations are pending
 */
export async function withDatabase<T>(
  work: (context: CommandContext, appliedMigrations: readonly string[]) => Promise<T>,
  { config: given, mayMigrate = false }: { config?: Config; mayMigrate?: boolean } = {},
): Promise<T> {
  const config = given ?? new Config(process.env);
  const database = await openDatabase(config, printMessage, { mayUseRunningServer: true });
  const { url, isEmbedded, servicePort, close } = database;
  try {
    const context = { config: given ?? settingsOfService(config, servicePort) };
    // With `mayMigrate` this comes before the connection, because it also waits for a database that does not answer yet.
    const migrate = () => migrateWhenReachable(url, printMessage);
    const migrated = mayMigrate ? await migrate() : [];
    return await withMaintenanceConnection(
      url,
      async (dataSource) => {
        const pending = mayMigrate ? [] : await pendingMigrations(dataSource);
        if (pending.length > 0 && !isEmbedded)
          throw new CommandError(
            `The database lacks the migrations ${pending.join(', ')}: run mooring migrate first.`,
          );
        const appliedMigrations = pending.length > 0 ? await migrate() : migrated;
        return work({ ...context, clock: new Clock(), dataSource, databaseUrl: url }, appliedMigrations);
      },
      { entities: COMMAND_ENTITIES },
    );
  } catch (error) {
    throw await databaseFailure(error, url);
  } finally {
    await close();
  }
}

/**
 * Returns the settings with the port of the running service, if there is one: without PORT, it has taken the first free port, which
 * is in its default of PUBLIC_URL.
 */
const settingsOfService = (config: Config, port: number | undefined): Config =>
  port === undefined ? config : new Config({ ...process.env, PORT: String(port) });

/** @param keys the result of `openLicenseKeys`, if the caller has opened them */
export async function createLicensesService(
  context: CommandContext,
  keys?: LicenseKeys,
): Promise<LicensesService> {
  const { config, clock, dataSource } = context;
  return new LicensesService(dataSource, keys ?? (await openLicenseKeys(context)), config, clock);
}

/** @param keys the result of `openLicenseKeys`, if the caller has opened them */
export async function createErasureService(
  context: CommandContext,
  keys?: LicenseKeys,
): Promise<ErasureService> {
  const { config, clock, dataSource, databaseUrl } = context;
  const records = new ErasureRecords(clock, config, keys ?? (await openLicenseKeys(context)));
  return new ErasureService(dataSource, new DatabaseUrl(databaseUrl), clock, config, records);
}

/** Creates the service that records purchases, which `POST /v1/purchases` also uses. */
export async function createPurchasesService(context: CommandContext): Promise<PurchasesService> {
  const { clock, dataSource } = context;
  const keys = await openLicenseKeys(context);
  const licenses = await createLicensesService(context, keys);
  const erasures = await createErasureService(context, keys);
  const databaseUrl = new DatabaseUrl(context.databaseUrl);
  return new PurchasesService(dataSource, licenses, keys, erasures, databaseUrl, clock);
}

/** Opens the license keys. @throws ConfigError if the database was made with another secret or prefix */
export async function openLicenseKeys({ config, clock, dataSource }: CommandContext): Promise<LicenseKeys> {
  const keys = await readLicenseKeys(config);
  await requireKeySettingsOfDatabase(dataSource, keys, config, clock.now());
  return keys;
}

/** Creates the manifest service and loads the published manifests. Without trusted keys the service cannot publish. */
export async function loadManifestService(
  { config, clock, dataSource }: CommandContext,
  trusted: ManifestKeys['trusted'] = new Map(),
): Promise<ManifestService> {
  const log = new AppLogger('warn', process.stderr);
  const manifests = new ManifestService(dataSource, new ManifestKeys(trusted), config, clock, log);
  await manifests.refresh();
  return manifests;
}
