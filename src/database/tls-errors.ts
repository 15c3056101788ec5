import { types } from 'node:util';
import { ConfigError } from '../core/config.js';

/** What `pg` says, without a code, of a server that answers a request for TLS with no. */
const NO_TLS = 'The server does not support SSL connections';
/** Node's codes for a certificate that is not valid, not trusted or not the host's. */
const CERTIFICATE = /CERT|^UNABLE_TO_|^(INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH)$/;
/** OpenSSL's codes for a handshake that fails otherwise. */
const HANDSHAKE = /^(ERR_SSL_|EPROTO$)/;

const READ = 'docs/operations/tls.md';

/** Whether a connection to the database failed at TLS: none offered, a certificate that does not hold, a handshake. */
export function isTlsFailure({ message, code }: { message: string; code?: unknown }): boolean {
  return message === NO_TLS || (typeof code === 'string' && (CERTIFICATE.test(code) || HANDSHAKE.test(code)));
}

/**
 * The refusal of a start where TLS cannot be had as DATABASE_URL demands it, which no waiting mends.
 * @returns null for any other error
 */
export function tlsError(error: unknown): ConfigError | null {
  if (!types.isNativeError(error)) return null;
  const cause = ((error as { driverError?: unknown }).driverError ?? error) as Error & { code?: unknown };
  if (!isTlsFailure(cause)) return null;
  const why =
    cause.message === NO_TLS
      ? 'demands TLS, which the server does not offer: switch it on there, or add sslmode=disable in a private network'
      : `demands TLS, which failed (${String(cause.code)}): check the server’s certificate, and name its authority as sslrootcert`;
  return new ConfigError(`DATABASE_URL ${why} (${READ}).`, { cause });
}
