import { isIPv4 } from 'node:net';
import { ConfigError } from './config-error.js';
import { isLoopbackHost } from './connection-urls.js';

/** Whether a server that listens on this address is reachable only from its own machine. */
function isLoopbackListener(host: string): boolean {
  return host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

/**
 * Whether the mode is production. Development mode generates keys and prints a sample license, so a service in this mode must not
 * be reachable from outside, and must not use a production database by mistake (docs/decisions/0042).
 * @param settings.databaseUrl the text of DATABASE_URL @throws ConfigError
 */
export function isProductionMode(settings: {
  readonly nodeEnv: string | undefined;
  readonly host: string;
  readonly databaseUrl: string | undefined;
}): boolean {
  const { nodeEnv, host, databaseUrl } = settings;
  if (nodeEnv === 'production') return true;
  if (nodeEnv !== undefined && nodeEnv !== 'development') {
    throw new ConfigError('NODE_ENV must be development or production.');
  }
  if (!isLoopbackListener(host)) {
    throw new ConfigError(
      'Development mode runs on a loopback address alone: set NODE_ENV=production, or HOST=127.0.0.1.',
    );
  }
  if (nodeEnv === undefined && databaseUrl !== undefined) {
    throw new ConfigError(
      'With DATABASE_URL, NODE_ENV must be given: set NODE_ENV=production, or NODE_ENV=development if the database has no real data.',
    );
  }
  return false;
}

const REQUIRED = [
  'DATABASE_URL',
  'LICENSE_KEY_SECRET',
  'TOKEN_KEYS_DIR',
  'MANIFEST_PUBLIC_KEYS',
  'PUBLIC_URL',
  'PRODUCT',
];

/**
 * Refuses to run in production without one of these settings. No default would be right: with new secrets, the service would not
 * recognize its licenses at the next start; without PUBLIC_URL, its links would lead to localhost; without PRODUCT, an application
 * would refuse its tokens and manifests (docs/contract.md#settings).
 * @param read returns the text of a setting; undefined if it is missing @throws ConfigError
 */
export function requireProductionSettings(read: (name: string) => string | undefined): void {
  const missing = REQUIRED.filter((name) => read(name) === undefined);
  if (missing.length === 0) return;
  throw new ConfigError(
    `In production these settings must be given: ${missing.join(', ')} (mooring init makes the secrets, and .env.example describes each setting).`,
  );
}

/** Refuses a PUBLIC_URL without TLS in production. @throws ConfigError */
export function requireHttps(publicUrl: string): void {
  const { protocol, hostname } = new URL(publicUrl);
  if (protocol === 'https:' || isLoopbackHost(hostname)) return;
  throw new ConfigError('In production PUBLIC_URL must be an https URL, unless its host is a loopback one.');
}

/** Refuses to switch off the verification of certificates. @throws ConfigError */
export function requireVerifiedCertificates(nodeTlsRejectUnauthorized: string | undefined): void {
  if (nodeTlsRejectUnauthorized !== '0') return;
  throw new ConfigError('NODE_TLS_REJECT_UNAUTHORIZED must not be 0: no certificate would be verified.');
}
