import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TcpProxy, processesOf } from './outage-harness.js';

/** A new cluster and its write-ahead log need about 60 MB. */
const SIZE = '128m';
/** Mounts a small disk in a namespace of its own, which no other process sees and which needs no root. */
const IN_NAMESPACE = ['-U', '--map-root-user', '--mount'];
const MOUNT = `mount -t tmpfs -o size=${SIZE} none "$0" && exec "$@"`;
const program = fileURLToPath(new URL('./small-disk.mjs', import.meta.url));

type Reply = { readonly done: unknown } | { readonly failed: string };

/** A PostgreSQL whose disk can be filled. Its URL does not change. */
export class SmallDiskPostgres {
  readonly #directory = mkdtempSync(join(tmpdir(), 'mooring-disk-'));
  readonly #proxy = new TcpProxy();
  /**
   * Whether the server has a small disk, which can be full (ENOSPC). If the system forbids mounting one, the size of its files
   * is limited instead (EFBIG): then it cannot write either, and goes down sooner.
   */
  readonly hasOwnDisk: boolean;
  readonly #process: ChildProcess;
  /** The exit code of the process, if it has one, and the signal that ended it. */
  readonly #exited: Promise<unknown[]>;
  url!: string;

  private constructor() {
    const probe = [...IN_NAMESPACE, 'sh', '-c', MOUNT, this.#directory, 'true'];
    this.hasOwnDisk = spawnSync('unshare', probe).status === 0;
    const server = [process.execPath, program, this.#directory];
    const [command, ...args] = this.hasOwnDisk
      ? ['unshare', ...IN_NAMESPACE, 'sh', '-c', MOUNT, this.#directory, ...server]
      : server;
    this.#process = spawn(command!, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    this.#exited = once(this.#process, 'exit');
  }

  static async start(): Promise<SmallDiskPostgres> {
    const postgres = new SmallDiskPostgres();
    try {
      await postgres.#reply();
      await postgres.#proxy.open();
      await postgres.restart();
      return postgres;
    } catch (error) {
      await postgres.end();
      throw error;
    }
  }

  /** Starts the server again, as a supervisor does after it has gone down. */
  async restart(): Promise<void> {
    const url = new URL(String(await this.#send('start')));
    this.#proxy.target = Number(url.port);
    url.port = String(this.#proxy.port);
    this.url = url.href;
  }

  async fill(): Promise<void> {
    if (this.hasOwnDisk) await this.#send('fill');
    else this.#limitFiles('1');
  }

  async free(): Promise<void> {
    if (this.hasOwnDisk) await this.#send('free');
    else this.#limitFiles('unlimited');
  }

  // Changes the soft limit only, which an unprivileged process may raise again.
  #limitFiles(bytes: string): void {
    for (const pid of processesOf(join(this.#directory, 'postgres')))
      execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
  }

  async #send(what: 'start' | 'fill' | 'free'): Promise<unknown> {
    this.#process.send(what);
    return this.#reply();
  }

  async #reply(): Promise<unknown> {
    const ended = this.#exited.then((how): never => {
      throw new Error(`The PostgreSQL with the small disk ended: ${how.join(', ')}`);
    });
    const [reply] = (await Promise.race([once(this.#process, 'message'), ended])) as [Reply];
    if ('failed' in reply) throw new Error(reply.failed);
    return reply.done;
  }

  async end(): Promise<void> {
    this.#proxy.close();
    if (this.#process.connected) this.#process.disconnect();
    await this.#exited;
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
