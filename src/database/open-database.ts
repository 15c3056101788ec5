import { setTimeout as wait } from 'node:timers/promises';
import { dataDirError } from '../core/config-error.js';
import { Config } from '../core/config.js';
import { connectionErrorCode, databaseAddress, outageText } from './access-errors.js';
import { isTemporaryDatabaseError } from './temporary-errors.js';
import { databaseRefusal } from './migration-rights.js';
import { migrate, type DatabaseCheck } from './migrations.js';

/** The time to wait for a database that starts together with the service (docker compose, a rolling upgrade). */
const START_TIMEOUT_MS = 30_000;
const RETRY_INTERVAL_MS = 500;

/** A database that a program can connect to, until it calls `close`. */
interface OpenDatabase {
  readonly url: string;
  /** Whether this is the database of the embedded server. */
  readonly isEmbedded: boolean;
  /** The port of the running service whose embedded server this is; undefined if there is none. */
  readonly servicePort?: number | undefined;
  /** Ends the embedded server if this process started it or took it over; otherwise does nothing. */
  close(): Promise<void>;
}

/**
 * Provides the URL of the database. If DATABASE_URL is set, its value is returned and nothing is opened. Otherwise the embedded
 * server in DATA_DIR is started, or found if it is running and `mayUseRunningServer` is true.
 * @param printMessage receives a sentence about a step that takes long
 * @param mayUseRunningServer true for the command line, which may use the embedded server of a running service
 */
export async function openDatabase(
  config: Config,
  printMessage: (sentence: string) => void,
  { mayUseRunningServer = false } = {},
): Promise<OpenDatabase> {
  if (!config.databaseUrl)
    return { ...(await openEmbedded(config, printMessage, mayUseRunningServer)), isEmbedded: true };
  return { url: config.databaseUrl, isEmbedded: false, close: async () => undefined };
}

// The embedded server is imported on demand, because a process with DATABASE_URL does not need it.
async function openEmbedded(
  { dataDir, port }: Config,
  printMessage: (sentence: string) => void,
  mayUseRunningServer: boolean,
) {
  const { findEmbeddedPostgres, startEmbeddedPostgres } = await import('./embedded/embedded-postgres.js');
  const findRunning = async () => (mayUseRunningServer ? await findEmbeddedPostgres(dataDir) : null);
  const running = await findRunning();
  if (running) return { ...running, close: async () => undefined };
  const servicePort = mayUseRunningServer ? undefined : port;
  try {
    const { url, stop } = await startEmbeddedPostgres(dataDir, { printMessage, servicePort });
    return { url, close: stop };
  } catch (error) {
    // A service that is starting holds the lock of the data directory. Its server may be ready now.
    const ready = await findRunning();
    if (ready) return { ...ready, close: async () => undefined };
    throw dataDirError(dataDir, error);
  }
}

/**
 * Migrates a database. If it does not answer yet, tries again for 30 seconds (docs/decisions/0042).
 * @param printMessage receives a sentence when it waits for the database or for another instance, and another when the reason
 *   of the wait changes
 * @param signal ends the wait @param check is called with the migrated database
 * @returns the names of the applied migrations
 * @throws ConfigError if waiting would not help (`databaseRefusal`), at once
 * @throws DatabaseUnavailable after 30 seconds
 * @throws any other error of the migration at once; AbortError if `signal` ends the wait
 */
export async function migrateWhenReachable(
  url: string,
  printMessage: (sentence: string) => void,
  signal?: AbortSignal,
  check?: DatabaseCheck,
): Promise<string[]> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (let printedReason: string | undefined; ;) {
    try {
      return await migrate(url, printMessage, signal, check);
    } catch (error) {
      const refusal = await databaseRefusal(error, url);
      if (refusal || !isTemporaryDatabaseError(error)) throw refusal ?? error;
      const reason = connectionErrorCode(error);
      if (Date.now() > deadline) throw new DatabaseUnavailable(url, error);
      if (reason !== printedReason)
        printMessage(`Waiting for the database at ${databaseAddress(url)} (${reason}).`);
      printedReason = reason;
      await wait(RETRY_INTERVAL_MS, undefined, { signal });
    }
  }
}

/**
 * Returns the error to report for a failed use of a database: that of `databaseRefusal`, DatabaseUnavailable for a temporary error
 * (`isTemporaryDatabaseError`), or the error itself.
 */
export async function databaseFailure(error: unknown, url: string): Promise<unknown> {
  const refusal = await databaseRefusal(error, url);
  return refusal ?? (isTemporaryDatabaseError(error) ? new DatabaseUnavailable(url, error) : error);
}

/** The error of a start or a command whose database cannot be used. Its message is one sentence with the host and the reason. */
export class DatabaseUnavailable extends Error {
  constructor(url: string, cause: unknown) {
    super(outageText(cause, url), { cause });
  }
}
