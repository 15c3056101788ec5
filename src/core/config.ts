import { join, resolve } from 'node:path';
import { readBrand, type Brand } from './brand.js';
import { ConfigError } from './config-error.js';
import { databaseUrl, smtpUrl } from './connection-urls.js';
import {
  isProductionMode,
  requireHttps,
  requireProductionSettings,
  requireVerifiedCertificates,
} from './production-settings.js';
import {
  addressOfHost,
  httpUrl,
  languageTag,
  licenseKeyPrefix,
  mailAddress,
  productId,
  publicKeys,
  requireOtherPort,
  secret,
  staffToken,
  webhookSecret,
  type MailAddress,
} from './setting-values.js';
import { SettingsReader, type Environment } from './settings-reader.js';
import { readEventEndpoint, type EventEndpoint } from './event-endpoint.js';

export { ConfigError, type MailAddress };

/** What happens when a license expires: `keep` leaves it valid for the versions that it covers, `stop` ends it. */
export const ON_EXPIRY = ['keep', 'stop'] as const;
export type OnExpiry = (typeof ON_EXPIRY)[number];
/** The smallest and the largest machine limit of a license. The schema of the database has the same limits. */
export const MACHINES_ALLOWED = { min: 1, max: 100_000 };

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
  /** Whether several instances on this machine share `port`: the kernel distributes the connections (docs/decisions/0056). */
  readonly isPortShared: boolean;
  /** Without a trailing slash. */
  readonly publicUrl: string;
  readonly dataDir: string;
  /** The id of the application in tokens (`aud`) and manifests. */
  readonly product: string;
  readonly licenseKeyPrefix: string;
  /** The folder of the token key ring; undefined for the generated one in `dataDir`, in development only. */
  readonly tokenKeysDir: string | undefined;
  /**
   * The Ed25519 public keys, in base64url (JWK `x`), one of which must verify a published manifest; undefined for the generated key
   * in `dataDir`, in development only.
   */
  readonly manifestPublicKeys: readonly string[] | undefined;
  readonly defaultMachinesPerLicense: number;
  readonly defaultOnExpiry: OnExpiry;
  /** The number of activations of a license that its holder may release within a year without support. */
  readonly selfReleasesPerYear: number;
  /** Whether a holder receives a mail about each new activation. */
  readonly isNewActivationMailEnabled: boolean;
  /** The hour (UTC) in which large tables are rewritten, which locks them. Two days overdue, they are rewritten in any hour. */
  readonly largeTableHour: number;
  /** The largest number of telemetry rows that an instance stores in a day (UTC). */
  readonly telemetryRowsPerDay: number;
  readonly logLevel: LogLevel;
  /** The number of years that purchases are kept, from the end of their year. */
  readonly taxRetentionYears: number;
  /** The file that records erasures (`ErasureRecords`) outside the database, for restores. */
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
  /** The default language of mails. A mail that the portal causes has a language that the request accepts, if there is one. */
  readonly mailLanguage: string;
  /** The folder of further languages; undefined if there are none. */
  readonly languagesDir: string | undefined;
  readonly #databaseUrl: string | undefined;
  readonly #databaseReadUrl: string | undefined;
  readonly #licenseKeySecret: Buffer | undefined;
  readonly #smtpUrl: string | undefined;
  readonly #purchaseWebhookSecret: string | undefined;
  readonly #staffToken: string | undefined;
  readonly #eventEndpoint: EventEndpoint | undefined;

  /** Reads each setting in a statement of its own, so the constructor is long. @throws SettingsError with all invalid settings */
  constructor(environment: Environment) {
    const settings = new SettingsReader(environment);
    const { text } = settings;
    this.host = addressOfHost(text('HOST'));
    const mode = { nodeEnv: text('NODE_ENV'), host: this.host, databaseUrl: text('DATABASE_URL') };
    this.isProduction = settings.check(() => isProductionMode(mode));
    this.port = settings.integer('PORT', { min: 0, max: 65535 }, 3000);
    this.isPortShared = settings.oneOf('REUSE_PORT', ['true', 'false'], 'false') === 'true';
    const publicUrl = settings.parse('PUBLIC_URL', httpUrl);
    this.publicUrl = publicUrl ?? `http://localhost:${this.port}`;
    this.dataDir = resolve(text('DATA_DIR') ?? 'data');
    this.product = settings.parse('PRODUCT', productId) ?? 'com.example.app';
    this.licenseKeyPrefix = settings.parse('LICENSE_KEY_PREFIX', licenseKeyPrefix) ?? 'MOOR';
    this.tokenKeysDir = text('TOKEN_KEYS_DIR');
    this.manifestPublicKeys = settings.parse('MANIFEST_PUBLIC_KEYS', publicKeys);
    this.defaultMachinesPerLicense = settings.integer('DEFAULT_MACHINES_PER_LICENSE', MACHINES_ALLOWED, 1);
    this.defaultOnExpiry = settings.oneOf('DEFAULT_ON_EXPIRY', ON_EXPIRY, 'keep');
    this.selfReleasesPerYear = settings.integer('SELF_RELEASES_PER_YEAR', { min: 0, max: 1_000 }, 0);
    this.isNewActivationMailEnabled =
      settings.oneOf('MAIL_NEW_ACTIVATIONS', ['true', 'false'], 'false') === 'true';
    this.largeTableHour = settings.integer('LARGE_TABLE_HOUR', { min: 0, max: 23 }, 3);
    this.telemetryRowsPerDay = settings.integer(
      'TELEMETRY_ROWS_PER_DAY',
      { min: 0, max: 999_999_999 },
      5_000_000,
    );
    this.logLevel = settings.oneOf('LOG_LEVEL', LOG_LEVELS, 'info');
    this.taxRetentionYears = settings.integer('TAX_RETENTION_YEARS', { min: 1, max: 100 }, 10);
    const tombstoneFile = text('TOMBSTONE_FILE');
    this.isTombstoneFileGiven = tombstoneFile !== undefined;
    this.tombstoneFile = resolve(tombstoneFile ?? join(this.dataDir, 'erased.txt'));
    this.metricsPort = settings.integer('METRICS_PORT', { min: 0, max: 65535 }, undefined);
    settings.check(() => requireOtherPort(this.metricsPort, this.port));
    this.shutdownDelaySeconds = settings.integer('SHUTDOWN_DELAY_SECONDS', { min: 0, max: 60 }, 0);
    this.#databaseUrl = settings.parse('DATABASE_URL', databaseUrl);
    this.#databaseReadUrl = settings.parse('DATABASE_READ_URL', databaseUrl);
    settings.requireWith('DATABASE_READ_URL', 'DATABASE_URL');
    this.#licenseKeySecret = settings.parse('LICENSE_KEY_SECRET', secret);
    this.#smtpUrl = settings.parse('SMTP_URL', smtpUrl);
    settings.requireWith('SMTP_URL', 'MAIL_FROM');
    const sender = settings.parse('MAIL_FROM', mailAddress) ?? { name: '', address: 'licenses@localhost' };
    this.mailFrom = { ...sender, name: sender.name || this.product };
    this.brand = readBrand(settings, this.mailFrom.name);
    const languagesDir = text('LANGUAGES_DIR');
    this.languagesDir = languagesDir && resolve(languagesDir);
    this.mailLanguage = settings.parse('MAIL_LANGUAGE', languageTag) ?? 'en';
    this.#purchaseWebhookSecret = settings.parse('PURCHASE_WEBHOOK_SECRET', webhookSecret);
    this.#staffToken = text('STAFF_TOKEN');
    this.#eventEndpoint = readEventEndpoint(settings);
    if (this.isProduction) {
      // This checks only whether the texts are given, because an invalid one already has an error of its own.
      settings.check(() => requireProductionSettings(text));
      if (publicUrl) settings.check(() => requireHttps(publicUrl));
      const nodeTls = environment['NODE_TLS_REJECT_UNAUTHORIZED'];
      settings.check(() => requireVerifiedCertificates(nodeTls));
    }
    settings.throwErrors();
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

  /**
   * The staff token with which the command line publishes over https; undefined if it uses the database. Only this getter checks
   * it, so that a wrong token stops no other command. @throws ConfigError
   */
  get staffToken(): string | undefined {
    return this.#staffToken && staffToken('STAFF_TOKEN', this.#staffToken);
  }

  /** Where events are sent, and how they are signed (docs/events.md); undefined if they are not sent. */
  get eventEndpoint(): EventEndpoint | undefined {
    return this.#eventEndpoint;
  }
}
