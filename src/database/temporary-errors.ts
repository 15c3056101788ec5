import { types } from 'node:util';
import { driverErrorOf } from '../core/driver-error.js';
import { BatchQueueFull } from './batch.js';
import { isTlsFailure } from './tls-errors.js';

/**
 * The first characters of the SQLSTATE of temporary errors, after which the same request may succeed later: connection (08),
 * resources (53), shutdown (57P), statement timeout (57014), serialization and deadlock (40001, 40P01), lock timeout (55P03),
 * read-only (25006), idle and transaction timeout (25P03, 25P04), system (58) and internal errors (XX), which end with a repair.
 */
const TEMPORARY_SQL_STATES = /^(08|53|57P|57014|40001|40P01|55P03|25006|25P0[34]|58|XX)/;
const STATEMENT_TIMEOUT = '57014';
const NETWORK_ERROR_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  // For these four: the process or the machine has no file descriptor, port or buffer for a new connection.
  'EMFILE',
  'ENFILE',
  'EADDRNOTAVAIL',
  'ENOBUFS',
]);
/**
 * Messages of `NoUsableHost`, and of `pg`, its pool and TypeORM for errors without a code. TypeORM's two messages follow the loss
 * of a connection between two statements of a transaction.
 */
const DRIVER_MESSAGES =
  /^(No host |timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error|Cannot use a pool after|There was an error establishing an SSL connection|Query runner already released|Database connection provided by a query runner was already released)/;

/** Whether an error means that a statement took longer than the time limit of its connection. */
export const isStatementTimeout = (error: unknown): boolean =>
  types.isNativeError(error) && driverErrorOf(error).code === STATEMENT_TIMEOUT;

/**
 * Whether an error of the database is temporary: the database cannot be reached, TLS failed, too many requests wait for it, or the
 * SQLSTATE is one of `TEMPORARY_SQL_STATES`.
 */
export function isTemporaryDatabaseError(error: unknown): boolean {
  if (error instanceof BatchQueueFull) return true;
  // `instanceof Error` does not work here, because an error of Node may come from another realm.
  if (!types.isNativeError(error)) return false;
  const cause = driverErrorOf(error);
  if (isTlsFailure(cause)) return true;
  if (Array.isArray(cause.errors)) return cause.errors.some(isTemporaryDatabaseError);
  if (typeof cause.code !== 'string') return DRIVER_MESSAGES.test(cause.message);
  // A network error without a system call concerns the connection of a client, not a connection to the database.
  return (
    TEMPORARY_SQL_STATES.test(cause.code) ||
    (NETWORK_ERROR_CODES.has(cause.code) && typeof cause.syscall === 'string')
  );
}
