import { ConfigError } from '../core/config.js';
import type { DriverError } from '../core/driver-error.js';

/** The message of `pg` for a server that offers no TLS. The error has no code. */
const NO_TLS = 'The server does not support SSL connections';
/** The error codes of Node for a certificate that is invalid, not trusted, or of another host. */
const CERTIFICATE = /CERT|^UNABLE_TO_|^(INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH)$/;
/** The error codes for other failures of a TLS handshake. */
const HANDSHAKE = /^(ERR_SSL_|EPROTO$)/;

/** What helps, by the code of a failed handshake. Most other codes mean that the authority of the certificate is not known. */
const TLS_REMEDIES: readonly (readonly [code: RegExp, remedy: string])[] = [
  [/ALTNAME_INVALID|HOSTNAME_MISMATCH/, 'use the host name for which the server’s certificate is issued'],
  [/CERT_HAS_EXPIRED|CERT_NOT_YET_VALID/, 'renew the server’s certificate, or correct the clock'],
  [HANDSHAKE, 'check the server’s TLS settings'],
  [/./, 'check the server’s certificate, and give the file of its authority as sslrootcert'],
];

/** Whether a connection to the database failed because the server has no TLS, or because of its certificate or the handshake. */
export function isTlsFailure({ message, code }: { message: string; code?: unknown }): boolean {
  return message === NO_TLS || (typeof code === 'string' && (CERTIFICATE.test(code) || HANDSHAKE.test(code)));
}

/**
 * Creates the error for a connection that failed because of TLS. A start ends with this error at once, because waiting would not
 * help.
 * @param setting the setting with the URL @returns null for any other error
 */
export function tlsError(cause: DriverError, setting: string): ConfigError | null {
  if (!isTlsFailure(cause)) return null;
  const code = String(cause.code);
  const reason =
    cause.message === NO_TLS
      ? 'requires TLS, which the server does not offer: enable TLS on the server, or add sslmode=disable in a private network'
      : `requires TLS, which failed (${code}): ${TLS_REMEDIES.find(([codes]) => codes.test(code))![1]}`;
  return new ConfigError(`${setting} ${reason} (docs/operations/tls.md).`, { cause });
}
