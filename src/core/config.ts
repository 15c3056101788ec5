import { isIPv4 } from 'node:net';
import { join, resolve } from 'node:path';
import { readBrand, type Brand } from './brand.js';
import { ConfigError } from './config-error.js';
import {
  databaseHost,
  databaseUrlWithTls,
  requireTlsInProduction,
  smtpUrlWithTls,
} from './connection-urls.js';

export { ConfigError };

type Environment = Readonly<Record<string, string | undefined>>;
/** What happens when a license expires: `keep` leaves it valid for the versions that it covers, `stop` ends it. */
export const ON_EXPIRY = ['keep', 'stop'] as const;
export type OnExpiry = (typeof ON_EXPIRY)[number];
/** The smallest and the largest machine limit of a license. The schema of the database has the same limits. */
export const MACHINES_ALLOWED = { min: 1, max: 100_000 };

/** A mail address with its display name. */
export interface MailAddress {
  readonly name: string;
  readonly address: string;
}

/** The values of LOG_LEVEL, from the most to the fewest lines. */
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * The settings (docs/contract.md#settings), read from the environment and checked once, at start.
 * Secrets are in private fields, which neither JSON nor `util.inspect` shows.
 */
export class Config {
  /** False in development. */
  readonly isProduction: boolean;
  readonly port: number;
  readonly host: string;
  /** Without a trailing slash. */
  readonly publicUrl: string;
  readonly dataDir: string;
  /** The id of the application in tokens (`aud`) and manifests. */
  readonly product: string;
  readonly licenseKeyPrefix: string;
  /** The folder of the token key ring; undefined for the generated one in `dataDir`, in development only. */
  readonly tokenKeysDir: string | undefined;
  /**
   * The Ed25519 public keys, in base64url (JWK `x`), that a published manifest may be signed with; undefined for the generated key
   * in `dataDir`, in development only.
   */
  readonly manifestPublicKeys: readonly string[] | undefined;
  readonly defaultMachinesPerLicense: number;
  readonly defaultOnExpiry: OnExpiry;
  /** The number of activations of a license that its holder may release within a year without support. */
  readonly selfReleasesPerYear: number;
  /** Whether a holder receives a mail about each new activation. */
  readonly isNewActivationMailEnabled: boolean;
  /** The hour (UTC) in which large tables may be rewritten, which locks them. */
  readonly largeTableHour: number;
  /** The largest number of telemetry rows that an instance stores in a day (UTC). */
  readonly telemetryRowsPerDay: number;
  readonly logLevel: LogLevel;
  /** The number of years that purchases are kept, from the end of their year. */
  readonly taxRetentionYears: number;
  /** The file with the ids of erased rows, outside the database, for restores. */
  readonly tombstoneFile: string;
  /** Whether TOMBSTONE_FILE is set; otherwise the file is in DATA_DIR. */
  readonly isTombstoneFileGiven: boolean;
  /** The port of the metrics; undefined disables them. */
  readonly metricsPort: number | undefined;
  /** The time that an instance keeps serving after SIGTERM, until load balancers send it no more requests (docs/decisions/0016). */
  readonly shutdownDelaySeconds: number;
  /** The sender of mails. */
  readonly mailFrom: MailAddress;
  readonly brand: Brand;
  /** The default language of mails. A mail that a request of the portal causes has a language that the request accepts, if there is one. */
  readonly mailLanguage: string;
  /** The folder of further languages; undefined if there are none. */
  readonly languagesDir: string | undefined;
  readonly #databaseUrl: string | undefined;
  readonly #databaseReadUrl: string | undefined;
  readonly #licenseKeySecret: Buffer | undefined;
  readonly #smtpUrl: string | undefined;
  readonly #purchaseWebhookSecret: string | undefined;

  /** @throws ConfigError naming the setting that cannot be used */
  constructor(environment: Environment) {
    const read = (name: string) => environment[name]?.trim() || undefined;
    const host = read('HOST') ?? '127.0.0.1';
    // For `localhost` Fastify would start one server for IPv4 and one for IPv6, and only the first would strip client addresses.
    this.host = host === 'localhost' ? '127.0.0.1' : host;
    this.isProduction = isProductionMode(read('NODE_ENV'), this.host);
    this.port = integer('PORT', read('PORT'), { default: 3000, min: 0, max: 65535 });
    this.publicUrl = httpUrl('PUBLIC_URL', read('PUBLIC_URL') ?? `http://localhost:${this.port}`);
    this.dataDir = resolve(read('DATA_DIR') ?? 'data');
    this.product = matching(
      'PRODUCT',
      read('PRODUCT') ?? 'com.example.app',
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,95}$/,
    );
    const prefix = read('LICENSE_KEY_PREFIX') ?? 'MOOR';
    this.licenseKeyPrefix = matching('LICENSE_KEY_PREFIX', prefix, /^[A-Z0-9]{2,12}$/);
    this.tokenKeysDir = read('TOKEN_KEYS_DIR');
    this.manifestPublicKeys = publicKeys(read('MANIFEST_PUBLIC_KEYS'));
    const machines = read('DEFAULT_MACHINES_PER_LICENSE');
    this.defaultMachinesPerLicense = integer('DEFAULT_MACHINES_PER_LICENSE', machines, {
      default: 1,
      ...MACHINES_ALLOWED,
    });
    this.defaultOnExpiry = oneOf('DEFAULT_ON_EXPIRY', read('DEFAULT_ON_EXPIRY') ?? 'keep', ON_EXPIRY);
    const selfReleases = read('SELF_RELEASES_PER_YEAR');
    this.selfReleasesPerYear = integer('SELF_RELEASES_PER_YEAR', selfReleases, {
      default: 0,
      min: 0,
      max: 1_000,
    });
    const newActivations = read('MAIL_NEW_ACTIVATIONS') ?? 'false';
    this.isNewActivationMailEnabled =
      oneOf('MAIL_NEW_ACTIVATIONS', newActivations, ['true', 'false']) === 'true';
    this.largeTableHour = integer('LARGE_TABLE_HOUR', read('LARGE_TABLE_HOUR'), {
      default: 3,
      min: 0,
      max: 23,
    });
    const telemetryRows = read('TELEMETRY_ROWS_PER_DAY');
    this.telemetryRowsPerDay = integer('TELEMETRY_ROWS_PER_DAY', telemetryRows, {
      default: 5_000_000,
      min: 0,
      max: 999_999_999,
    });
    this.logLevel = oneOf('LOG_LEVEL', read('LOG_LEVEL') ?? 'info', LOG_LEVELS);
    this.taxRetentionYears = integer('TAX_RETENTION_YEARS', read('TAX_RETENTION_YEARS'), {
      default: 10,
      min: 1,
      max: 100,
    });
    const tombstoneFile = read('TOMBSTONE_FILE');
    this.isTombstoneFileGiven = tombstoneFile !== undefined;
    this.tombstoneFile = resolve(tombstoneFile ?? join(this.dataDir, 'erased.txt'));
    const metricsPort = read('METRICS_PORT');
    this.metricsPort =
      metricsPort === undefined
        ? undefined
        : integer('METRICS_PORT', metricsPort, { default: 0, min: 0, max: 65535 });
    const shutdownDelay = read('SHUTDOWN_DELAY_SECONDS');
    this.shutdownDelaySeconds = integer('SHUTDOWN_DELAY_SECONDS', shutdownDelay, {
      default: 0,
      min: 0,
      max: 60,
    });
    this.#databaseUrl = databaseUrl('DATABASE_URL', read('DATABASE_URL'));
    this.#databaseReadUrl = databaseUrl('DATABASE_READ_URL', read('DATABASE_READ_URL'));
    if (this.#databaseReadUrl && !this.#databaseUrl) {
      throw new ConfigError('With DATABASE_READ_URL, DATABASE_URL must be given.');
    }
    this.#licenseKeySecret = secret('LICENSE_KEY_SECRET', read('LICENSE_KEY_SECRET'));
    this.#smtpUrl = smtpUrl(read('SMTP_URL'));
    this.mailFrom = mailFrom(read('MAIL_FROM'), this);
    this.brand = readBrand(read, this.mailFrom.name);
    const languagesDir = read('LANGUAGES_DIR');
    this.languagesDir = languagesDir && resolve(languagesDir);
    this.mailLanguage = languageTag('MAIL_LANGUAGE', read('MAIL_LANGUAGE') ?? 'en');
    this.#purchaseWebhookSecret = webhookSecret(read('PURCHASE_WEBHOOK_SECRET'));
    if (!this.isProduction) return;
    this.requireProductionSettings();
    requireTlsInProduction(this.publicUrl, environment['NODE_TLS_REJECT_UNAUTHORIZED']);
  }

  /** Undefined for the embedded PostgreSQL in `dataDir`. */
  get databaseUrl(): string | undefined {
    return this.#databaseUrl;
  }

  /** The URL of a replica that may confirm heartbeats; undefined if heartbeats use the primary only. */
  get databaseReadUrl(): string | undefined {
    return this.#databaseReadUrl;
  }

  /** Undefined if it is generated in `dataDir`, in development only. */
  get licenseKeySecret(): Buffer | undefined {
    return this.#licenseKeySecret;
  }

  /** Undefined if mail is written to `DATA_DIR/outbox`. */
  get smtpUrl(): string | undefined {
    return this.#smtpUrl;
  }

  /** In base64, as in Standard Webhooks; undefined disables the route for purchases. */
  get purchaseWebhookSecret(): string | undefined {
    return this.#purchaseWebhookSecret;
  }

  // Nothing is generated in production: with new secrets, the service would not recognize its licenses
  // at the next start (docs/contract.md#settings).
  private requireProductionSettings(): void {
    const needed = {
      DATABASE_URL: this.#databaseUrl,
      LICENSE_KEY_SECRET: this.#licenseKeySecret,
      TOKEN_KEYS_DIR: this.tokenKeysDir,
      MANIFEST_PUBLIC_KEYS: this.manifestPublicKeys,
    };
    const missing = Object.entries(needed).filter(([, value]) => value === undefined);
    if (missing.length === 0) return;
    const names = missing.map(([name]) => name).join(', ');
    throw new ConfigError(
      `In production these settings must be given: ${names} (mooring init makes the secrets).`,
    );
  }
}

/** Whether a server that listens on this host is reachable only from its own machine. */
function isLoopbackListener(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

// Development mode generates keys and prints a sample license, so a service in this mode must not be reachable from outside.
function isProductionMode(nodeEnv: string | undefined, host: string): boolean {
  const mode = nodeEnv ?? (isLoopbackListener(host) ? 'development' : undefined);
  if (mode === 'production') return true;
  if (mode !== undefined && mode !== 'development') {
    throw new ConfigError('NODE_ENV must be development or production.');
  }
  if (mode === undefined || !isLoopbackListener(host)) {
    throw new ConfigError(
      'Development mode runs on a loopback address alone: set NODE_ENV=production, or HOST=127.0.0.1.',
    );
  }
  return false;
}

function integer(
  name: string,
  text: string | undefined,
  limits: { readonly default: number; readonly min: number; readonly max: number },
): number {
  if (text === undefined) return limits.default;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  if (!(value >= limits.min && value <= limits.max)) {
    throw new ConfigError(`${name} must be a whole number from ${limits.min} to ${limits.max}.`);
  }
  return value;
}

function matching(name: string, text: string, shape: RegExp): string {
  if (!shape.test(text)) throw new ConfigError(`${name} must match ${shape.source}.`);
  return text;
}

function oneOf<const T extends string>(name: string, text: string, allowed: readonly T[]): T {
  const value = allowed.find((candidate) => candidate === text);
  if (!value) throw new ConfigError(`${name} must be one of ${allowed.join(', ')}.`);
  return value;
}

function httpUrl(name: string, text: string): string {
  const url = URL.parse(text);
  if (
    !url ||
    !['http:', 'https:'].includes(url.protocol) ||
    /[?#]/.test(text) ||
    url.username ||
    url.password
  ) {
    throw new ConfigError(
      `${name} must be an http or https URL without a query, fragment, user name or password.`,
    );
  }
  return url.href.replace(/\/+$/, '');
}

// Errors do not contain the URL, because it contains a password.
function databaseUrl(name: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  if (!url || !/^postgres(ql)?:$/.test(url.protocol) || !databaseHost(url)) {
    throw new ConfigError(`${name} must be a URL of the form postgres://user:password@host:port/name.`);
  }
  return databaseUrlWithTls(name, url);
}

function secret(name: string, text: string | undefined): Buffer | undefined {
  if (text === undefined) return undefined;
  const bytes = /^[A-Za-z0-9+/]{43}=$/.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0);
  if (bytes.length !== 32) throw new ConfigError(`${name} must be 32 bytes in base64.`);
  return bytes;
}

// Errors do not contain the URL, because it contains a password.
function smtpUrl(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  if (!url || !/^smtps?:$/.test(url.protocol) || !url.hostname) {
    throw new ConfigError('SMTP_URL must be a URL of the form smtp://user:password@host:port or smtps://….');
  }
  return smtpUrlWithTls(url);
}

/** An address alone, such as `licenses@example.com`. */
const BARE_ADDRESS = /^[^\s<>@,"]+@[^\s<>@,"]+$/;
/** An address in angle brackets, after a name that may be in quotation marks. */
const NAME_WITH_ADDRESS = /^(?:"([^"\\\p{Cc}]*)"|([^"<>,;:\\\p{Cc}]*))\s*<([^\s<>@,]+@[^\s<>@,]+)>$/u;

function mailFrom(text: string | undefined, { product, smtpUrl }: Config): MailAddress {
  if (text === undefined && smtpUrl) throw new ConfigError('With SMTP_URL, MAIL_FROM must be given.');
  if (text === undefined) return { name: product, address: 'licenses@localhost' };
  if (BARE_ADDRESS.test(text)) return { name: product, address: text };
  const [, quotedName, plainName, address] = NAME_WITH_ADDRESS.exec(text) ?? [];
  if (!address)
    throw new ConfigError(
      'MAIL_FROM must be an e-mail address, or a name with an address: App <licenses@example.com>.',
    );
  return { name: (quotedName ?? plainName)?.trim() || product, address };
}

function languageTag(name: string, text: string): string {
  try {
    return Intl.getCanonicalLocales(text)[0]!;
  } catch {
    throw new ConfigError(`${name} must be a language tag, such as de or pt-BR.`);
  }
}

function webhookSecret(text: string | undefined): string | undefined {
  const base64 = text?.replace(/^whsec_/, '');
  const bytes = /^[A-Za-z0-9+/]+={0,2}$/.test(base64 ?? '') ? Buffer.from(base64!, 'base64').length : 0;
  if (text !== undefined && (bytes < 24 || bytes > 64)) {
    throw new ConfigError(
      'PURCHASE_WEBHOOK_SECRET must be 24 to 64 bytes in base64, with or without the prefix whsec_.',
    );
  }
  return base64;
}

/** 32 bytes in base64url. The last of the 43 characters has only 4 significant bits, so it is one of 16. */
const PUBLIC_KEY = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/;

function publicKeys(text: string | undefined): string[] | undefined {
  const keys = text?.split(',').map((key) => key.trim());
  if (keys?.some((key) => !PUBLIC_KEY.test(key))) {
    throw new ConfigError(
      'MANIFEST_PUBLIC_KEYS must be Ed25519 public keys in base64url, separated by commas.',
    );
  }
  return keys;
}
