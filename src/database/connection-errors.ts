import { types } from 'node:util';
import { TooManyWait } from './batch.js';
import { isTlsFailure } from './tls-errors.js';

/** SQLSTATE classes and codes of temporary errors: the same request may succeed later. */
const TEMPORARY_STATES = /^(08|53|57P|57014|40001|40P01|55P03|25006|25P0[34]|58|XX)/;
const NETWORK = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  // The process or the machine has no file descriptor, port or buffer for a new connection.
  'EMFILE',
  'ENFILE',
  'EADDRNOTAVAIL',
  'ENOBUFS',
]);
/**
 * Messages of `pg`, its pool and TypeORM for errors without a code. TypeORM's two messages follow the loss of a connection
 * between two statements of a transaction.
 */
const DRIVER_MESSAGES =
  /^(timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error|Cannot use a pool after|There was an error establishing an SSL connection|Query runner already released|Database connection provided by a query runner was already released)/;

/** Whether an error is temporary: the database is unavailable, shuts down or is overloaded, or a lock was held too long. */
export function isConnectionError(error: unknown): boolean {
  if (error instanceof TooManyWait) return true;
  // `instanceof` does not work here, because an error of Node may come from another realm.
  if (!types.isNativeError(error)) return false;
  const cause = ((error as { driverError?: unknown }).driverError ?? error) as Error & {
    code?: unknown;
    syscall?: unknown;
    errors?: unknown;
  };
  if (isTlsFailure(cause)) return true;
  if (Array.isArray(cause.errors)) return cause.errors.some(isConnectionError);
  if (typeof cause.code !== 'string') return DRIVER_MESSAGES.test(cause.message);
  // An error without a system call is about the connection of a client, not about one to the database.
  return TEMPORARY_STATES.test(cause.code) || (NETWORK.has(cause.code) && typeof cause.syscall === 'string');
}
