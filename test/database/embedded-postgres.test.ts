import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import {
  findEmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/database/embedded/embedded-postgres.js';
import { endPostmaster, isPostmaster } from '../../src/database/embedded/postgres-process.js';
import { copyMigratedCluster } from '../support/databases/own-postgres.js';
import { query } from '../support/databases/replica-harness.js';

let folder: string;
let dataDir: string;
let cluster: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'mooring-postgres-')));
  dataDir = join(folder, 'data');
  cluster = join(dataDir, 'postgres');
});

afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode === null && child.signalCode === null) await kill(child);
  }
  if (existsSync(join(cluster, 'postmaster.pid'))) await endPostmaster(postmasterPid(), cluster, 'SIGKILL');
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

const start = () => startEmbeddedPostgres(dataDir, { durable: false });

const postmasterPid = () => parseInt(readFileSync(join(cluster, 'postmaster.pid'), 'utf8'), 10);

/** Starts a process that owns the server until the process is killed. The process prints its messages, then the URL. */
function startOtherProcess() {
  // The build, because a process takes twice as long to load the sources.
  const built = new URL('../../dist/database/embedded/embedded-postgres.js', import.meta.url).href;
  const script = `
    import { startEmbeddedPostgres } from ${JSON.stringify(built)};
    const { url } = await startEmbeddedPostgres(${JSON.stringify(dataDir)}, { durable: false, printMessage: console.log, waitSeconds: 600 });
    console.log(url);
    setInterval(() => {}, 60_000);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { child, line: async () => (await lines.next()).value ?? '(nothing more)' };
}

async function kill(child: ChildProcess) {
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

/** Starts a server, creates a table in it, and kills its owner. A later read of the table shows whether data was lost. */
async function startOrphan() {
  copyMigratedCluster(dataDir);
  const owner = startOtherProcess();
  const url = await owner.line();
  await query(url, 'create table stored as select 42 as answer');
  const pid = postmasterPid();
  await kill(owner.child);
  expect(isPostmaster(pid, cluster)).toBe(true);
  return { url, pid };
}

const storedAnswer = (url: string) => query(url, 'select answer from stored');

test('a first start creates a cluster and a database, and a stop leaves no process and no state file', async () => {
  const server = await start();
  const [row] = await query(server.url, 'select current_database() as name, version() as version');
  expect(row).toEqual({ name: 'mooring', version: expect.stringContaining('PostgreSQL 18') });
  expect(await findEmbeddedPostgres(dataDir)).toEqual({ url: server.url });
  expect(statSync(join(dataDir, 'postgres.json')).mode & 0o777).toBe(0o600);
  expect(statSync(join(cluster, 'mooring.password')).mode & 0o777).toBe(0o600);
  const pid = postmasterPid();

  await Promise.all([server.stop(), server.stop()]);
  expect(isPostmaster(pid, cluster)).toBe(false);
  expect(await findEmbeddedPostgres(dataDir)).toBeNull();
  expect(readdirSync(dataDir).toSorted()).toEqual(['postgres', 'postgres.lock', 'postgres.log']);
});

test('a restart keeps the data and the password, deletes what a killed creation left, listens only on 127.0.0.1 and logs no statement, parameter or connection; only a server that is not durable has its shared memory in its folder', async () => {
  copyMigratedCluster(dataDir);
  mkdirSync(join(dataDir, 'postgres.init-killed', 'cluster'), { recursive: true });
  const first = await start();
  expect(readdirSync(dataDir).filter((name) => name.includes('init'))).toEqual([]);
  // After a kill, this memory is freed with the folder.
  expect(readdirSync(join(cluster, 'pg_dynshmem'))).not.toEqual([]);
  await query(first.url, 'create table stored as select 42 as answer');
  await first.stop();

  const second = await startEmbeddedPostgres(dataDir);
  expect(readdirSync(join(cluster, 'pg_dynshmem'))).toEqual([]);
  expect(await storedAnswer(second.url)).toEqual([{ answer: 42 }]);
  expect(new URL(second.url).password).toBe(new URL(first.url).password);
  const expected = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    TimeZone: 'UTC',
    log_timezone: 'UTC',
    log_error_verbosity: 'terse',
    log_min_error_statement: 'panic',
    log_statement: 'none',
    log_min_duration_statement: '-1',
    log_parameter_max_length: '0',
    log_parameter_max_length_on_error: '0',
    log_connections: 'off',
    log_disconnections: 'off',
    fsync: 'on',
    password_encryption: 'scram-sha-256',
    server_encoding: 'UTF8',
  };
  const settings = await query<{ name: string; value: string }>(
    second.url,
    'select name, current_setting(name) as value from unnest($1::text[]) as name',
    [Object.keys(expected)],
  );
  expect(Object.fromEntries(settings.map(({ name, value }) => [name, value]))).toEqual(expected);
  await query(second.url, 'create table person (email text unique)');
  await query(second.url, `insert into person values ('canary@example.com')`);
  await expect(query(second.url, `insert into person values ('canary@example.com')`)).rejects.toThrow(
    'person_email',
  );
  await second.stop();
  const log = readFileSync(join(dataDir, 'postgres.log'), 'utf8');
  expect(log).toContain('duplicate key');
  expect(log).not.toContain('canary');
});

test('a start takes over the running server of a killed owner', async () => {
  const { url, pid } = await startOrphan();
  const server = await start();
  expect(server.url).toBe(url);
  expect(postmasterPid()).toBe(pid);
  expect(await storedAnswer(server.url)).toEqual([{ answer: 42 }]);
  await server.stop();
  expect(isPostmaster(pid, cluster)).toBe(false);
});

test('a start with other settings replaces the server of a killed owner, and keeps its data', async () => {
  const { pid } = await startOrphan();
  const server = await startEmbeddedPostgres(dataDir, { durable: true });
  expect(isPostmaster(pid, cluster)).toBe(false);
  expect(await query(server.url, 'show fsync')).toEqual([{ fsync: 'on' }]);
  expect(await storedAnswer(server.url)).toEqual([{ answer: 42 }]);
  await server.stop();
});

test('a start replaces a server of a killed owner that does not answer, and keeps its data', async () => {
  const { pid } = await startOrphan();
  process.kill(pid, 'SIGSTOP');
  const server = await start();
  expect(isPostmaster(pid, cluster)).toBe(false);
  expect(await storedAnswer(server.url)).toEqual([{ answer: 42 }]);
  await server.stop();
});

test('after the server and its owner were killed, a start recovers the data', async () => {
  const { pid } = await startOrphan();
  process.kill(pid, 'SIGKILL');
  const server = await start();
  expect(await storedAnswer(server.url)).toEqual([{ answer: 42 }]);
  await server.stop();
});

test('a postmaster.pid that names a running process of another program, or that was emptied by a crash of the computer, is ignored', async () => {
  const { pid } = await startOrphan();
  const [file, stateFile] = [join(cluster, 'postmaster.pid'), join(dataDir, 'postgres.json')];
  const [lines, state] = [readFileSync(file, 'utf8').split('\n'), readFileSync(stateFile)];
  await endPostmaster(pid, cluster, 'SIGINT');
  const other = spawn('sleep', ['600']);
  children.push(other);
  for (const left of [[other.pid, ...lines.slice(1)], []]) {
    writeFileSync(file, left.join('\n'));
    // A killed owner leaves this file too.
    writeFileSync(stateFile, state);
    const server = await start();
    expect(await storedAnswer(server.url)).toEqual([{ answer: 42 }]);
    await server.stop();
    expect(other.signalCode).toBeNull();
  }
});

test('if two processes start at once on an empty directory, one owns the server, and the other takes over when the owner is killed', async () => {
  const processes = [startOtherProcess(), startOtherProcess()];
  const first = await Promise.all(processes.map((each) => each.line()));
  const [owner, waiting] = first[0]?.startsWith('postgres://') ? processes : processes.toReversed();
  expect(first.toSorted()).toEqual([
    expect.stringMatching(/^Another Mooring process \(.*\) is using .*: waiting for it to end\.$/),
    expect.stringMatching(/^postgres:/),
  ]);
  await kill(owner!.child);
  expect([await waiting!.line()]).toEqual(first.filter((line) => line.startsWith('postgres:')));
});

test('a start fails while another process owns the server, and the error names the owner and the directory', async () => {
  copyMigratedCluster(dataDir);
  const owner = startOtherProcess();
  const url = await owner.line();
  await expect(startEmbeddedPostgres(dataDir, { waitSeconds: 0 })).rejects.toThrow(
    `Another Mooring process (${owner.child.pid}) is using ${dataDir}: stop it, or set another DATA_DIR.`,
  );
  expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);
});
