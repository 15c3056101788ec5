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
  lockDataDir,
  filesOf,
  PASSWORD_FILE,
  readState,
  urlOf,
  writeState,
  type Files,
  type RunningServer,
} from './postgres-files.js';
import { readPidFile, replaceStalePid, type Postmaster } from './pid-file.js';
import {
  endPostmaster,
  initializeCluster,
  isPostmaster,
  launch,
  serverSettings,
} from './postgres-process.js';

/** Creating the database copies a few hundred files, which takes over half a minute on a slow disk under load. */
const CREATION_TIMEOUT_MS = 600_000;

/** The running server of a data directory. */
export interface EmbeddedPostgres {
  /** The URL of the database, with its password. */
  url: string;
  /** Ends the server and releases the lock of the data directory. It can be called twice. */
  stop(): Promise<void>;
}

/** How a server is started. */
interface EmbeddedPostgresOptions {
  /** False only in tests, where data may be lost if the machine crashes. */
  durable?: boolean;
  /** Receives one sentence if this process must wait until another one releases the lock of the data directory. */
  printMessage?: (sentence: string) => void;
  /** The longest wait for another process to release the lock of the data directory; 10 seconds by default. */
  waitSeconds?: number;
  servicePort?: RunningServer['servicePort'];
  /** The port of the server, for bench/simulation, which restarts it on the same port; by default any free port. */
  port?: number;
}

/**
 * Starts the PostgreSQL server of this data directory, or takes over the server that a crashed process left running. This
 * process holds the lock of the directory until `stop()`. @throws Error if another process holds the lock or the start fails
 */
export async function startEmbeddedPostgres(
  dataDir: string,
  options: EmbeddedPostgresOptions = {},
): Promise<EmbeddedPostgres> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const files = filesOf(dataDir);
  const release = await lockDataDir(files, options.printMessage, options.waitSeconds);
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
    removeUnfinishedClusters(files);
    if (!existsSync(join(files.cluster, 'PG_VERSION'))) await createCluster(files, durable);
    server =
      (await takeOver(files, settings)) ?? (await launch(files.cluster, files.log, settings, options.port));
    return await openServer(files, server, stop, options.servicePort);
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Returns the running server of this data directory, for a process that does not own it; null if none runs. */
export async function findEmbeddedPostgres(dataDir: string): Promise<RunningServer | null> {
  if (!existsSync(dataDir)) return null;
  const files = filesOf(dataDir);
  const { url, servicePort } = readState(files) ?? {};
  const server = readPidFile(files.cluster);
  if (!url || !server || !isPostmaster(server.pid, files.cluster)) return null;
  const current = await currentSettings(url);
  return current?.['data_directory'] === files.cluster ? { url, servicePort } : null;
}

/** Creates the database of a started server if it is missing, and writes its URL to the state file. @param end stops the server */
async function openServer(files: Files, server: Postmaster, end: () => Promise<void>, servicePort?: number) {
  const url = urlOf(files, server);
  await ensureDatabase(url);
  writeState(files, { ownerPid: process.pid, url, servicePort });
  // If this process exits without `stop()`, it ends the server, so that the next start need not take it over.
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
 * Returns the server that a crashed process left running, if it answers within two seconds and has these settings. Otherwise a
 * running server is ended, a stale pid file is changed so that a new server can start, and the result is null.
 */
async function takeOver(files: Files, settings: Record<string, string>): Promise<Postmaster | null> {
  const previousServer = readPidFile(files.cluster);
  if (!previousServer || !isPostmaster(previousServer.pid, files.cluster)) {
    replaceStalePid(files.cluster);
    return null;
  }
  const current = await currentSettings(urlOf(files, previousServer, 'postgres'));
  const required = Object.entries({ ...settings, data_directory: files.cluster });
  if (current && required.every(([name, value]) => current[name] === value)) return previousServer;
  const signals: NodeJS.Signals[] = current ? ['SIGINT', 'SIGQUIT', 'SIGKILL'] : ['SIGQUIT', 'SIGKILL'];
  await endPostmaster(previousServer.pid, files.cluster, ...signals);
  return null;
}

/** Reads the settings of the server at this URL; null if no server answers within two seconds. */
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

/** Creates the database `mooring` if it is missing. */
async function ensureDatabase(url: string) {
  try {
    await query(url, 'select 1');
  } catch (error) {
    const invalidCatalogName = '3D000';
    if ((error as pg.DatabaseError).code !== invalidCatalogName) throw error;
    await query(url.replace(/mooring$/, 'postgres'), 'create database mooring', CREATION_TIMEOUT_MS);
  }
}

async function query(url: string, sql: string, timeoutMilliseconds = 30_000): Promise<unknown[]> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: timeoutMilliseconds,
    query_timeout: timeoutMilliseconds,
  });
  client.on('error', () => {}); // The query reports a broken connection. Without a listener the error would end the process.
  try {
    await client.connect();
    return (await client.query(sql)).rows;
  } finally {
    void client.end().catch(() => {});
  }
}

/** Creates the cluster (PostgreSQL's data directory) under a temporary name, so that a killed process leaves no incomplete one. */
async function createCluster(files: Files, durable: boolean) {
  const temporaryDir = mkdtempSync(join(files.dataDir, 'postgres.init-'));
  try {
    const passwordFile = join(temporaryDir, PASSWORD_FILE);
    writeFileSync(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600, flush: true });
    await initializeCluster(join(temporaryDir, 'cluster'), passwordFile, durable);
    renameSync(passwordFile, join(temporaryDir, 'cluster', PASSWORD_FILE));
    renameSync(join(temporaryDir, 'cluster'), files.cluster);
    const directory = openSync(files.dataDir, 'r');
    fsyncSync(directory);
    closeSync(directory);
  } finally {
    rmSync(temporaryDir, { recursive: true, force: true });
  }
}

/** Removes the temporary directories of processes that were killed while they created a cluster. */
function removeUnfinishedClusters(files: Files) {
  for (const name of readdirSync(files.dataDir)) {
    if (name.startsWith('postgres.init-'))
      rmSync(join(files.dataDir, name), { recursive: true, force: true });
  }
}
