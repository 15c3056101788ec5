import { types } from 'node:util';
import { TooManyWait } from './batch.js';
import { isTlsFailure } from './tls-errors.js';

/** SQLSTATE classes and codes that mean "not now" rather than "wrong": the same request may succeed later. */
const PASSING = /^(08|53|57P|57014|40001|40P01|55P03|25006|25P0[34]|58|XX)/;
const NETWORK = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  // This process, or the machine, has no file descriptor, port or buffer left for a new connection.
  'EMFILE',
  'ENFILE',
  'EADDRNOTAVAIL',
  'ENOBUFS',
]);
/**
 * What `pg`, its pool and TypeORM say without any code. TypeORM's two sentences follow a connection that broke between two
 * statements of a transaction.
 */
const DRIVER_SAYS =
  /^(timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error|Cannot use a pool after|There was an error establishing an SSL connection|Query runner already released|Database connection provided by a query runner was already released)/;

/** Whether the database cannot answer just now (away, shutting down, overloaded, a lock held too long). */
export function isConnectionError(error: unknown): boolean {
  if (error instanceof TooManyWait) return true;
  // Not `instanceof`: an error of Node's own may come from another realm.
  if (!types.isNativeError(error)) return false;
  const cause = ((error as { driverError?: unknown }).driverError ?? error) as Error & {
    code?: unknown;
    syscall?: unknown;
    errors?: unknown;
  };
  if (isTlsFailure(cause)) return true;
  if (Array.isArray(cause.errors)) return cause.errors.some(isConnectionError);
  if (typeof cause.code !== 'string') return DRIVER_SAYS.test(cause.message);
  // Without a system call it is a caller's connection that broke, not ours to the database.
  return PASSING.test(cause.code) || (NETWORK.has(cause.code) && typeof cause.syscall === 'string');
}
