import { types } from 'node:util';
import { ConfigError } from '../core/config.js';
import { databaseHost } from '../core/connection-urls.js';
import { hostUrls } from '../core/host-list.js';
import { driverErrorOf, type DriverError } from '../core/driver-error.js';
import { isPoolerRefusal, poolerError } from './pooler.js';
import { tlsError } from './tls-errors.js';

const DEFAULT_PORT = '5432';

/** The setting that names a database. */
type DatabaseSetting = 'DATABASE_URL' | 'DATABASE_READ_URL';

/** Returns the hosts and ports of a database URL, without the role and the password, for messages. */
export function databaseAddress(databaseUrl: string): string {
  const addresses = hostUrls(databaseUrl).map((hostUrl) => {
    const url = new URL(hostUrl);
    const host = databaseHost(url);
    return host.startsWith('/') ? host : `${host}:${url.port || DEFAULT_PORT}`;
  });
  return addresses.join(', ');
}

/** The SQLSTATE of a role that lacks a right. */
export const INSUFFICIENT_PRIVILEGE = '42501';
/** The SQLSTATE of a table that cannot be created, because the search path has no schema that exists and that the role may use. */
export const NO_SCHEMA = '3F000';

/** The SQLSTATE of a write to a database that accepts none. */
export const READ_ONLY = '25006';
/** What a lock timeout and a deadlock have in common. */
const LOCKED = 'is busy: another transaction holds a lock that is needed';
/** Why a database cannot be used at the moment, by SQLSTATE, with the remedy. Of other errors only the code is known. */
const OUTAGES: Readonly<Record<string, string>> = {
  [READ_ONLY]:
    'accepts no writes (25006): if it is a standby, give its primary in DATABASE_URL, otherwise reset default_transaction_read_only (docs/operations/failover.md)',
  '53300':
    'has no free connection (53300): end other connections, or raise the limit of the server, the database or the role (docs/operations/load-and-limits.md)',
  '55P03': `${LOCKED} (55P03): try again`,
  '40P01': `${LOCKED} (40P01): try again`,
  '40001': 'is busy: another transaction changed the same rows (40001): try again',
  '57014': 'is busy: it has cancelled a statement that took too long (57014): try again',
};

/** Why a server refused the role, the password, the database or a right, by SQLSTATE. `refusal` replaces the `{…}`. */
const REFUSALS: Readonly<Record<string, string>> = {
  '28P01': 'PostgreSQL at {address} refuses the password of the role {role}: correct it in {setting}',
  '28000':
    'PostgreSQL at {address} refuses the role {role}: create it, or allow it in pg_hba.conf, or correct {setting}',
  '3D000': 'PostgreSQL at {address} has no database {database}: create it, or correct {setting}',
  [INSUFFICIENT_PRIVILEGE]: 'The role {role} lacks a right in the database {database} at {address}: {remedy}',
  [NO_SCHEMA]:
    'The search_path of the role {role} names no schema in the database {database} at {address} that it may use: correct it for the role, for the database or in {setting}',
};
/** What helps a role that lacks a right. The role of a replica may read a few columns only. */
const RIGHTS_REMEDIES: Readonly<Record<DatabaseSetting, string>> = {
  DATABASE_URL: 'make it the owner, or correct DATABASE_URL (docs/operations/install.md)',
  DATABASE_READ_URL:
    'grant it on the primary, or correct DATABASE_READ_URL (docs/operations/replicas.md#setup)',
};
/** The message of `pg` for a server that asks for a password if the URL has none. The error has no code. */
const NO_PASSWORD = /client password must be a string/;

/**
 * Creates the error for a connection that waiting would not help: the server refuses the role, the password, the database or a
 * right, the URL leads to a pooler, or TLS failed. The message contains no password.
 * @returns null for any other error
 */
export function connectionRefusal(
  error: unknown,
  databaseUrl: string,
  setting: DatabaseSetting = 'DATABASE_URL',
): ConfigError | null {
  if (!types.isNativeError(error)) return null;
  if (isPoolerRefusal(error)) return poolerError(error);
  const cause = driverErrorOf(error);
  if (NO_PASSWORD.test(cause.message)) {
    const address = databaseAddress(databaseUrl);
    return new ConfigError(`PostgreSQL at ${address} requires a password: add it to ${setting}.`, { cause });
  }
  const text = REFUSALS[String(cause.code)];
  return text === undefined ? tlsError(cause, setting) : refusal(text, databaseUrl, setting, cause);
}

/** Creates the error for a role that lacks a right in the database, or whose search path has no schema. */
export const roleError = (code: typeof INSUFFICIENT_PRIVILEGE | typeof NO_SCHEMA, databaseUrl: string) =>
  refusal(REFUSALS[code]!, databaseUrl, 'DATABASE_URL');

function refusal(text: string, databaseUrl: string, setting: DatabaseSetting, cause?: Error): ConfigError {
  // All hosts have the same role, password and database.
  const url = new URL(hostUrls(databaseUrl)[0]!);
  // Without a name in the URL, a sentence has "the role of the system user" or "database of the role".
  const parts: Record<string, string> = {
    address: databaseAddress(databaseUrl),
    setting,
    remedy: RIGHTS_REMEDIES[setting],
    role: decodeURIComponent(url.username) || 'of the system user',
    database: decodeURIComponent(url.pathname.slice(1)) || 'of the role',
  };
  const sentence = text.replaceAll(/\{(\w+)\}/g, (_all, part: string) => parts[part]!);
  return new ConfigError(`${sentence}.`, { cause });
}

/** Describes in a sentence a database that cannot be used at the moment, with the remedy. */
export function outageText(error: unknown, databaseUrl: string): string {
  const code = connectionErrorCode(error);
  const text = OUTAGES[code] ?? `does not answer (${code}): start it, or correct DATABASE_URL`;
  return `The database at ${databaseAddress(databaseUrl)} ${text}.`;
}

/** Returns the code of a failed connection, such as ECONNREFUSED, for messages; without a code, the text of the error. */
export function connectionErrorCode(error: unknown): string {
  const { code, errors, message } = driverErrorOf(error);
  return String(code ?? (errors as readonly DriverError[] | undefined)?.[0]?.code ?? message);
}
