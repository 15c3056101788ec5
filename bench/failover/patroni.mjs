import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../scripts/free-port.mjs';
import { ScriptError } from '../../scripts/prepare.mjs';
import { query } from '../load/database.mjs';

// The file is long, because etcd, Patroni and PostgreSQL are started as one cluster.

/** Where Debian's packages have the programs of PostgreSQL, by major version. */
const POSTGRES_FOLDER = '/usr/lib/postgresql';
const [PATRONI, ETCD] = ['/usr/bin/patroni', '/usr/bin/etcd'];
const PASSWORD = 'bench';
/** The time limit of each wait for the cluster, also on a busy machine. */
const CLUSTER_TIMEOUT_MS = 180_000;

/** The times of Patroni, in seconds: a standby is promoted when the primary has not renewed its lock for `ttl`. */
export const PATRONI_SECONDS = { ttl: 5, loop_wait: 1, retry_timeout: 2 };

/** Finds the programs. @throws ScriptError that says what to install */
export function findTools() {
  const majors = existsSync(POSTGRES_FOLDER) ? readdirSync(POSTGRES_FOLDER).map(Number) : [];
  const major = Math.max(
    0,
    ...majors.filter((each) => existsSync(`${POSTGRES_FOLDER}/${each}/bin/pg_rewind`)),
  );
  if (major >= 15 && existsSync(PATRONI) && existsSync(ETCD))
    return { bin: `${POSTGRES_FOLDER}/${major}/bin` };
  throw new ScriptError(
    'This bench needs Patroni, etcd and PostgreSQL 15 or later of Debian or Ubuntu: apt-get install patroni etcd-server postgresql.',
  );
}

/** A cluster of PostgreSQL servers under Patroni, with etcd, in a temporary folder. */
export class PatroniCluster {
  #children = [];
  // The folder is outside that of the bench, which the user of PostgreSQL cannot enter if the bench runs as root.
  #folder = mkdtempSync(join(tmpdir(), 'mooring-patroni-'));
  #user;
  #etcd;
  #bin;
  nodes = [];

  constructor({ bin }) {
    this.#bin = bin;
    this.#user = userOfPostgres();
  }

  async start(count) {
    this.#giveToPostgres(this.#folder);
    const [client, peer] = [await freePort(), await freePort()];
    this.#etcd = `127.0.0.1:${client}`;
    const peerUrl = `http://127.0.0.1:${peer}`;
    const etcd = {
      'enable-v2': 'true',
      'data-dir': this.#makeFolder('etcd'),
      name: 'etcd',
      'listen-client-urls': `http://${this.#etcd}`,
      'advertise-client-urls': `http://${this.#etcd}`,
      'listen-peer-urls': peerUrl,
      'initial-advertise-peer-urls': peerUrl,
      'initial-cluster': `etcd=${peerUrl}`,
    };
    const options = Object.entries(etcd).map(([name, value]) => `--${name}=${value}`);
    this.#spawn('etcd', ETCD, options);
    for (let index = 0; index < count; index += 1) await this.#addNode(`node${index + 1}`);
    await this.waitForStandby();
    const primary = await this.primary();
    for (const sql of [
      `create role mooring login password '${PASSWORD}'`,
      'create database mooring owner mooring',
    ])
      await query(this.#adminUrl(primary), sql);
  }

  /** The URL of the database with all nodes as its hosts. */
  get url() {
    const hosts = this.nodes.map(({ port }) => `127.0.0.1:${port}`).join();
    return `postgres://mooring:${PASSWORD}@${hosts}/mooring`;
  }

  urlOf({ port }) {
    return `postgres://mooring:${PASSWORD}@127.0.0.1:${port}/mooring`;
  }

  #adminUrl({ port }) {
    return `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`;
  }

  async #addNode(name) {
    const node = {
      name,
      port: await freePort(),
      rest: await freePort(),
      data: join(this.#folder, name, 'data'),
    };
    node.config = join(this.#makeFolder(name), 'patroni.json');
    writeFileSync(node.config, JSON.stringify(this.#configuration(node)));
    this.nodes.push(node);
    this.startNode(node);
    await waitFor(async () => (await this.#members()).some((each) => each.name === name && isRunning(each)));
  }

  startNode(node) {
    node.patroni = this.#spawn(node.name, PATRONI, [node.config]);
  }

  /** Sends a signal to Patroni and to all processes of PostgreSQL of a node. */
  signal(node, signal) {
    for (const pid of [node.patroni.pid, ...postgresProcesses(node.data)]) sendSignal(pid, signal);
  }

  async primary() {
    const leader = (await this.#members()).find(({ role }) => role === 'leader');
    return this.nodes.find(({ name }) => name === leader?.name);
  }

  /** Waits until all nodes run, and one is a synchronous standby, so that the next failover loses no acknowledged write. */
  async waitForStandby() {
    await waitFor(async () => {
      const members = await this.#members();
      return (
        members.filter(isRunning).length === this.nodes.length &&
        members.some(({ role }) => role === 'leader') &&
        members.some(({ role }) => role === 'sync_standby')
      );
    });
  }

  // A node that is down or hangs does not respond, so the nodes are asked in turn until one responds.
  async #members() {
    for (const { rest } of this.nodes) {
      const signal = AbortSignal.timeout(1_000);
      const cluster = await fetch(`http://127.0.0.1:${rest}/cluster`, { signal })
        .then((response) => (response.ok ? response.json() : null))
        .catch(() => null);
      if (cluster?.members) return cluster.members;
    }
    return [];
  }

  async end() {
    for (const child of this.#children) if (isAlive(child)) child.kill('SIGKILL');
    await Promise.all(this.#children.filter(isAlive).map((child) => once(child, 'exit')));
    // PostgreSQL runs on after the death of its Patroni.
    for (const node of this.nodes) {
      await waitFor(() => {
        const left = postgresProcesses(node.data);
        for (const pid of left) sendSignal(pid, 'SIGKILL');
        return left.length === 0;
      });
    }
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  #configuration({ name, port, rest, data }) {
    const address = `127.0.0.1:${port}`;
    return {
      scope: 'mooring',
      name,
      restapi: { listen: `127.0.0.1:${rest}`, connect_address: `127.0.0.1:${rest}` },
      // `etcd3` is not used: with it, Patroni 3.0.2 takes its lock back from another primary when it continues after a stop.
      etcd: { host: this.#etcd },
      bootstrap: {
        dcs: {
          ...PATRONI_SECONDS,
          synchronous_mode: true,
          // If PostgreSQL alone fails, it is not started again on its machine, because that takes longer than a failover.
          master_start_timeout: 0,
          postgresql: { use_pg_rewind: true, use_slots: true },
        },
        initdb: [{ encoding: 'UTF8' }, 'data-checksums'],
      },
      postgresql: {
        listen: address,
        connect_address: address,
        data_dir: data,
        bin_dir: this.#bin,
        pgpass: join(this.#folder, name, 'pgpass'),
        authentication: {
          superuser: { username: 'postgres', password: PASSWORD },
          replication: { username: 'replicator', password: PASSWORD },
        },
        parameters: { unix_socket_directories: join(this.#folder, name), max_connections: 100 },
        pg_hba: [
          'host all all 127.0.0.1/32 scram-sha-256',
          'host replication all 127.0.0.1/32 scram-sha-256',
        ],
      },
    };
  }

  #makeFolder(name) {
    const folder = join(this.#folder, name);
    mkdirSync(folder, { mode: 0o700 });
    this.#giveToPostgres(folder);
    return folder;
  }

  #giveToPostgres(path) {
    if (this.#user) chownSync(path, this.#user.uid, this.#user.gid);
  }

  // The output goes to a file, because a terminal would be flooded.
  #spawn(name, program, args) {
    const log = openSync(join(this.#folder, `${name}.log`), 'a');
    const env = { PATH: '/usr/bin:/bin', HOME: this.#folder, LC_ALL: 'C.UTF-8' };
    const child = spawn(program, args, {
      cwd: this.#folder,
      env,
      stdio: ['ignore', log, log],
      detached: true,
      ...this.#user,
    });
    this.#children.push(child);
    return child;
  }
}

const isAlive = ({ exitCode, signalCode }) => exitCode === null && signalCode === null;
const isRunning = ({ state }) => state === 'running' || state === 'streaming';

/** PostgreSQL refuses to run as root. @returns the ids of Debian's user `postgres`; undefined if this process is not root */
function userOfPostgres() {
  if (process.geteuid() !== 0) return undefined;
  const [, uid, gid] = /^postgres:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8')) ?? [];
  if (uid === undefined) throw new ScriptError('The user postgres is missing: install postgresql.');
  return { uid: Number(uid), gid: Number(gid) };
}

function sendSignal(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended meanwhile.
  }
}

/** Returns the ids of the PostgreSQL processes of a data directory, which is their working directory. */
function postgresProcesses(data) {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => workingDirectory(pid) === data).map(Number);
}

function workingDirectory(pid) {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}

/** Repeats a check until it is true. @throws ScriptError after CLUSTER_TIMEOUT_MS */
export async function waitFor(check) {
  for (const began = performance.now(); performance.now() - began < CLUSTER_TIMEOUT_MS; await pause(100))
    if (await check()) return;
  throw new ScriptError('The cluster did not reach the wanted state within three minutes.');
}
