import { setTimeout as wait } from 'node:timers/promises';
import { Config, ConfigError } from '../config.js';
import { isDatabaseAway } from './failure.js';
import { migrate } from './migrations.js';

/** A database that may come up beside us (compose, a rolling upgrade) gets this long. */
const PATIENCE_MS = 30_000;

export interface OpenDatabase {
  readonly url: string;
  /** Names of the migrations applied now. */
  readonly applied: readonly string[];
  /** Ends the embedded server where this process started it. */
  close(): Promise<void>;
}

/**
 * The database of these settings, migrated: DATABASE_URL, or the embedded server under DATA_DIR.
 * @param beside true for the command line, which may use the embedded server of a running service
 * @param say told, in one sentence, what takes long
 * @param signal ends the waiting for a database that does not answer yet
 */
export async function openDatabase(
  config: Config,
  say: (sentence: string) => void,
  { beside = false, signal }: { beside?: boolean; signal?: AbortSignal } = {},
): Promise<OpenDatabase> {
  const { url, close } = config.databaseUrl
    ? { url: config.databaseUrl, close: async () => undefined }
    : await embedded(config, say, beside);
  try {
    return { url, applied: await migrateWhenThere(url, say, signal), close };
  } catch (error) {
    await close();
    throw error;
  }
}

// Loaded where it is needed: a production has a database of its own, and not these packages.
async function embedded({ dataDir }: Config, say: (sentence: string) => void, beside: boolean) {
  const { findEmbeddedPostgres, startEmbeddedPostgres } = await import('./embedded-postgres.js');
  const find = async () => (beside ? await findEmbeddedPostgres(dataDir) : null);
  const running = await find();
  if (running) return { url: running, close: async () => undefined };
  try {
    const { url, stop } = await startEmbeddedPostgres(dataDir, { say });
    return { url, close: stop };
  } catch (error) {
    // A service that was just starting has the data directory, and by now perhaps its server.
    const url = await find();
    if (url) return { url, close: async () => undefined };
    const { code, syscall } = error as NodeJS.ErrnoException;
    throw syscall ? new ConfigError(`DATA_DIR cannot be used: ${dataDir} (${code}).`) : error;
  }
}

async function migrateWhenThere(
  url: string,
  say: (sentence: string) => void,
  signal?: AbortSignal,
): Promise<string[]> {
  const deadline = Date.now() + PATIENCE_MS;
  for (let told = false; ; told = true) {
    try {
      return await migrate(url);
    } catch (error) {
      if (!isDatabaseAway(error) || Date.now() > deadline) throw error;
      if (!told) say('Waiting for the database to answer.');
      await wait(500, undefined, { signal });
    }
  }
}
