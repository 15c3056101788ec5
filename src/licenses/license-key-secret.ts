import { Config, ConfigError } from '../core/config.js';
import { execute, queryRow, queryRows, type SqlConnection } from '../database/sql.js';
import { recordAudit, type AuditContext } from '../audit/audit.js';
import type { LicenseKeys } from '../keys/license-keys.js';
import type { License } from './license.entity.js';
import type { DataSource } from 'typeorm';

/** The number of licenses whose keys are derived to recognise the secret of a database without a check value. */
const COMPARED_LICENSES = 100;

/** Returns the sentence that refuses a secret with which the license keys of this database were not derived. */
export const otherSecretText = (config: Config) =>
  `${config.licenseKeySecret ? 'LICENSE_KEY_SECRET is' : 'The license key secret in DATA_DIR/keys is'} not the secret with which ` +
  'this database was made: use that one, or read docs/operations/secrets-and-files.md if it is lost.';

/** Whether the database was made with this secret; null if the database has no check value yet. */
export async function isSecretOfDatabase(
  database: SqlConnection,
  { secretCheck }: Pick<LicenseKeys, 'secretCheck'>,
): Promise<boolean | null> {
  const row = await queryRow<{ value: Buffer }>(database, 'select value from license_key_secret_check');
  return row ? row.value.equals(secretCheck) : null;
}

/**
 * Refuses a secret with which the database was not made: keys could not be mailed again, and a purchase that is reported again would
 * get another license (docs/decisions/0042). If the database has no check value yet, the secret is compared with the license keys
 * instead, and its check value is stored if they match or there are none. Of concurrent first calls, one stores it.
 * @throws ConfigError
 */
export async function requireSecretOfDatabase(
  database: SqlConnection,
  keys: LicenseKeys,
  config: Config,
  now: Date,
): Promise<void> {
  let isSame = await isSecretOfDatabase(database, keys);
  if (isSame === null && (await mayBeSecretOfDatabase(database, keys))) {
    const insert =
      'insert into license_key_secret_check (value, since) values ($1, $2) on conflict do nothing';
    await execute(database, insert, [keys.secretCheck, now]);
    isSame = await isSecretOfDatabase(database, keys);
  }
  if (!isSame) throw new ConfigError(otherSecretText(config));
}

/**
 * Replaces the check value of a lost secret by that of this secret. Records who did it, and why.
 * @returns false if it was the secret of the database already, so that nothing was changed
 */
export async function acceptSecret(
  dataSource: DataSource,
  keys: LicenseKeys,
  audit: AuditContext,
  now: Date,
): Promise<boolean> {
  return dataSource.transaction(async (manager) => {
    const upsert = `insert into license_key_secret_check as c (value, since) values ($1, $2)
      on conflict (is_only_row) do update set value = excluded.value, since = excluded.since where c.value <> excluded.value
      returning since`;
    const isChanged = (await queryRow(manager, upsert, [keys.secretCheck, now])) !== undefined;
    if (isChanged) await recordAudit(manager, audit, { action: 'keys.accept_secret', at: now });
    return isChanged;
  });
}

// A database of an earlier version has licenses and no check value. Then the secret must derive the key of at least one of the
// licenses with the highest ids. It is refused if all of them were imported with license keys, which no secret derives.
async function mayBeSecretOfDatabase(database: SqlConnection, keys: LicenseKeys): Promise<boolean> {
  const licenses = await queryRows<Pick<License, 'id' | 'key_generation' | 'key_hash'>>(
    database,
    `select id, key_generation, key_hash from license order by id desc limit ${COMPARED_LICENSES}`,
  );
  if (licenses.length === 0) return true;
  return licenses.some(({ id, key_generation, key_hash }) =>
    keys.derive(id, key_generation).key_hash.equals(key_hash),
  );
}
