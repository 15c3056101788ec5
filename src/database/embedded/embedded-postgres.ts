import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import {
  becomeOwner,
  filesOf,
  passwordFile,
  readState,
  urlOf,
  writeState,
  type Files,
} from './postgres-files.js';
import {
  disownPidFile,
  endPostmaster,
  initializeCluster,
  isPostmaster,
  launch,
  readPidFile,
  serverSettings,
  type Postmaster,
} from './postgres-process.js';

export interface EmbeddedPostgres {
  url: string;
  /** Ends the server and lets go of the data directory. May be called twice. */
  stop(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  /** False only for tests: what a crash of the machine does to the data is then of no matter. */
  durable?: boolean;
  /** Called with one sentence when a step takes long. */
  printMessage?: (sentence: string) => void;
  /** How long to wait for another process to let go of the data directory. */
  waitSeconds?: number;
  /** Where a server that is started listens: for a test that starts it again where it was. Without one, any free port. */
  port?: number;
}

/**
 * Starts the PostgreSQL of this data directory, or takes over the one that a crashed run left, and owns it
 * until `stop()`. Throws one sentence when another process owns it, or when it cannot be started.
 */
export async function startEmbeddedPostgres(
  dataDir: string,
  options: EmbeddedPostgresOptions = {},
): Promise<EmbeddedPostgres> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const files = filesOf(dataDir);
  const release = await becomeOwner(files, options.printMessage, options.waitSeconds);
  let server: Postmaster | null = null;
  const stop = async () => {
    if (server) await endPostmaster(server.pid, files.cluster, 'SIGINT', 'SIGQUIT', 'SIGKILL');
    rmSync(files.state, { force: true });
    release();
  };
  try {
    writeState(files, { ownerPid: process.pid });
    const durable = options.durable ?? true;
    const settings = serverSettings(durable);
    removeUnfinished(files);
    if (!existsSync(join(files.cluster, 'PG_VERSION'))) await createCluster(files, durable);
    server =
      (await takeOver(files, settings)) ?? (await launch(files.cluster, files.log, settings, options.port));
    return await opened(files, server, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The url of a running server of this data directory, for a process that only wants to use it; else null. */
export async function findEmbeddedPostgres(dataDir: string): Promise<string | null> {
  if (!existsSync(dataDir)) return null;
  const files = filesOf(dataDir);
  const { url } = readState(files) ?? {};
  const server = readPidFile(files.cluster);
  if (!url || !server || !isPostmaster(server.pid, files.cluster)) return null;
  const current = await currentSettings(url);
  return current?.['data_directory'] === files.cluster ? url : null;
}

async function opened(files: Files, server: Postmaster, end: () => Promise<void>) {
  const url = urlOf(files, server);
  await ensureDatabase(url);
  writeState(files, { ownerPid: process.pid, postgresPid: server.pid, url });
  // Where the owner exits without a stop, the server need not be left to the next start.
  const onExit = () => void (isPostmaster(server.pid, files.cluster) && process.kill(server.pid, 'SIGINT'));
  process.once('exit', onExit);
  let stopping: Promise<void> | undefined;
  const stop = () => {
    if (stopping) return stopping;
    process.removeListener('exit', onExit);
    if (existsSync(files.state)) writeState(files, { ownerPid: process.pid });
    return (stopping = end());
  };
  return { url, stop };
}

/**
 * The server of a crashed run, if it is verifiably ours, answers within two seconds and runs as we would
 * have started it. Any other leftover is ended or made harmless, and the answer is null.
 */
async function takeOver(files: Files, settings: Record<string, string>): Promise<Postmaster | null> {
  const left = readPidFile(files.cluster);
  if (!left || !isPostmaster(left.pid, files.cluster)) {
    disownPidFile(files.cluster);
    return null;
  }
  const current = await currentSettings(urlOf(files, left, 'postgres'));
  const wanted = Object.entries({ ...settings, data_directory: files.cluster });
  if (current && wanted.every(([name, value]) => current[name] === value)) return left;
  const signals: NodeJS.Signals[] = current ? ['SIGINT', 'SIGQUIT', 'SIGKILL'] : ['SIGQUIT', 'SIGKILL'];
  await endPostmaster(left.pid, files.cluster, ...signals);
  return null;
}

/** What the server at this url says of itself; null where none answers within two seconds. */
async function currentSettings(url: string): Promise<Record<string, string> | null> {
  const deadline = Date.now() + 2_000;
  while (Date.now() < deadline) {
    const sql = `select json_object_agg(lower(name), current_setting(name)) as settings from pg_settings`;
    const rows = await query(url, sql, deadline - Date.now()).catch(() => null);
    if (rows) return (rows[0] as { settings: Record<string, string> }).settings;
    await pause(50);
  }
  return null;
}

async function ensureDatabase(url: string) {
  try {
    await query(url, 'select 1');
  } catch (error) {
    const invalidCatalogName = '3D000';
    if ((error as pg.DatabaseError).code !== invalidCatalogName) throw error;
    await query(url.replace(/mooring$/, 'postgres'), 'create database mooring');
  }
}

async function query(url: string, sql: string, timeoutMilliseconds = 30_000): Promise<unknown[]> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: timeoutMilliseconds,
    query_timeout: timeoutMilliseconds,
  });
  client.on('error', () => {}); // a connection that breaks later fails the query; it must not end the process
  try {
    await client.connect();
    return (await client.query(sql)).rows;
  } finally {
    void client.end().catch(() => {});
  }
}

/** In a directory of its own until it is complete, so that a killed start leaves nothing half made. */
async function createCluster(files: Files, durable: boolean) {
  const made = mkdtempSync(join(files.dataDir, 'postgres.init-'));
  try {
    const password = join(made, passwordFile);
    writeFileSync(password, randomBytes(24).toString('base64url'), { mode: 0o600, flush: true });
    await initializeCluster(join(made, 'cluster'), password, durable);
    renameSync(password, join(made, 'cluster', passwordFile));
    renameSync(join(made, 'cluster'), files.cluster);
    const directory = openSync(files.dataDir, 'r');
    fsyncSync(directory);
    closeSync(directory);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

/** What a start that was killed while it created the cluster has left. */
function removeUnfinished(files: Files) {
  for (const name of readdirSync(files.dataDir)) {
    if (name.startsWith('postgres.init-'))
      rmSync(join(files.dataDir, name), { recursive: true, force: true });
  }
}
