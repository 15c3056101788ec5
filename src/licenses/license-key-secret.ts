import { Config, ConfigError } from '../core/config.js';
import { execute, queryRow, queryRows, type SqlConnection } from '../database/sql.js';
import { recordAudit, type AuditContext } from '../audit/audit.js';
import type { LicenseKeys } from '../keys/license-keys.js';
import type { License } from './license.entity.js';
import type { DataSource } from 'typeorm';

/**
 * The number of licenses, from the highest id down, whose keys are derived for a comparison, if the check value or the prefix is
 * not stored.
 */
const COMPARED_LICENSES = 100;

/** The settings from which license keys are derived, as `LicenseKeys` has them. */
export type KeySettings = Pick<LicenseKeys, 'secretCheck' | 'prefix'>;

/** The settings of this process, compared with those of the database. */
export interface KeySettingsCheck {
  /** Whether the database has the check value of its secret (`LicenseKeys.secretCheck`). The first start or command stores it. */
  readonly isStored: boolean;
  /** False also for a database that an earlier version made, until a start has stored the prefix. */
  readonly isPrefixStored: boolean;
  /** A sentence that says how the settings differ from those of the database; undefined if they do not. */
  readonly fault: string | undefined;
}

const SECRETS_PAGE = 'docs/operations/secrets-and-files.md';
const secretName = (config: Config) =>
  config.licenseKeySecret ? 'LICENSE_KEY_SECRET' : 'The license key secret in DATA_DIR/keys';

/** Compares the secret and the prefix with those of the database. */
export async function checkKeySettings(
  database: SqlConnection,
  { secretCheck, prefix }: KeySettings,
  config: Config,
): Promise<KeySettingsCheck> {
  const sql = 'select value, prefix from license_key_secret_check';
  const stored = await queryRow<{ value: Buffer; prefix: string | null }>(database, sql);
  let fault: string | undefined;
  if (stored && !stored.value.equals(secretCheck))
    fault = `${secretName(config)} is not the secret with which this database was made: use that one, or read ${SECRETS_PAGE} if it is lost.`;
  else if (typeof stored?.prefix === 'string' && stored.prefix !== prefix)
    fault =
      `LICENSE_KEY_PREFIX is ${prefix}, but the license keys of this database begin with ${stored.prefix}: ` +
      `set LICENSE_KEY_PREFIX=${stored.prefix} (${SECRETS_PAGE}).`;
  return { isStored: stored !== undefined, isPrefixStored: typeof stored?.prefix === 'string', fault };
}

// Only a start may change the prefix of the row: a missing one always, another one only before the first license. A command may
// lack the setting of the service.
const STORE_SETTINGS = `
  insert into license_key_secret_check as c (value, prefix, since) values ($1, $2, $3)
  on conflict (is_only_row) do update set prefix = excluded.prefix
    where $4 and c.value = excluded.value and (c.prefix is null or not exists (select from license))`;

/**
 * Refuses a secret or a prefix with which the database was not made: keys could not be mailed again, a purchase that is reported
 * again would get another license or another key, and a key that is typed without its prefix would not be found
 * (docs/decisions/0042). If the database has no check value yet, the settings are compared with the license keys instead, and
 * stored if they match or there are none. Of concurrent first calls, one stores them.
 * @param options.isStart whether the service starts, which may change the prefix until the first license @throws ConfigError
 */
export async function requireKeySettingsOfDatabase(
  database: SqlConnection,
  keys: LicenseKeys,
  config: Config,
  now: Date,
  { isStart = false } = {},
): Promise<void> {
  const { isStored, isPrefixStored, fault } = await checkKeySettings(database, keys, config);
  if (!fault && isStored && (isPrefixStored || !isStart)) return;
  // With a fault, the license keys need not be compared: STORE_SETTINGS replaces the prefix if this is a start before the first
  // license, and otherwise changes nothing, so that the last check finds the fault again.
  const share = fault ? 1 : await derivedShare(database, keys);
  if (share === 0) {
    // The secret is right, and no license key proves the prefix: all may have been imported with their keys.
    if (isStored) return;
    throw new ConfigError(
      `${secretName(config)} is not the secret with which this database was made, or LICENSE_KEY_PREFIX is not ${keys.prefix} there: ` +
        `use those, or read ${SECRETS_PAGE} if the secret is lost.`,
    );
  }
  // A few keys may have been issued with a wrong prefix, when the setting was missing. The prefix is stored only if most keys have
  // it, because it cannot be replaced while there is a license.
  const prefix = share > 0.5 ? keys.prefix : null;
  await execute(database, STORE_SETTINGS, [keys.secretCheck, prefix, now, isStart]);
  const { fault: remaining } = await checkKeySettings(database, keys, config);
  if (remaining) throw new ConfigError(remaining);
}

/**
 * Replaces the check value of a lost secret by that of this secret, and keeps the prefix. Records who did it, and why.
 * @returns false if it was the secret of the database already, so that nothing was changed
 */
export async function acceptSecret(
  dataSource: DataSource,
  keys: KeySettings,
  audit: AuditContext,
  now: Date,
): Promise<boolean> {
  return dataSource.transaction(async (manager) => {
    const upsert = `insert into license_key_secret_check as c (value, prefix, since) values ($1, $2, $3)
      on conflict (is_only_row) do update set value = excluded.value, since = excluded.since where c.value <> excluded.value
      returning since`;
    const isChanged = (await queryRow(manager, upsert, [keys.secretCheck, keys.prefix, now])) !== undefined;
    if (isChanged) await recordAudit(manager, audit, { action: 'keys.accept_secret', at: now });
    return isChanged;
  });
}

/**
 * Returns the share of the licenses with the highest ids whose keys these settings derive; 1 if there is no license. Ids are not in
 * the order of issue, because many ids are derived, such as those of purchased licenses. A database of an earlier version has
 * licenses, and no check value or no prefix. Then the settings must derive the key of at least one of these licenses, and for the
 * prefix, of most. They do not derive keys that licenses were imported with.
 */
async function derivedShare(database: SqlConnection, keys: LicenseKeys): Promise<number> {
  const licenses = await queryRows<Pick<License, 'id' | 'key_generation' | 'key_hash'>>(
    database,
    `select id, key_generation, key_hash from license order by id desc limit ${COMPARED_LICENSES}`,
  );
  if (licenses.length === 0) return 1;
  const derived = licenses.filter(({ id, key_generation, key_hash }) =>
    keys.derive(id, key_generation).key_hash.equals(key_hash),
  );
  return derived.length / licenses.length;
}
