import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TcpProxy, processesOf } from '../support/databases/outage-harness.js';
import { temporaryFolder } from '../support/folders.js';
import { afterThisFile } from '../support/of-this-file.js';

/** The size of the disk. A new cluster and its write-ahead log need about 60 MB. */
const DISK_SIZE = '128m';
/** Options of `unshare` for a mount namespace: creating it needs no root, and no other process sees a disk mounted in it. */
const NAMESPACE_OPTIONS = ['-U', '--map-root-user', '--mount'];
const MOUNT = `mount -t tmpfs -o size=${DISK_SIZE} none "$0" && exec "$@"`;
const program = fileURLToPath(new URL('./small-disk.mjs', import.meta.url));

type Reply = { readonly done: unknown } | { readonly failed: string };

/** A PostgreSQL server whose disk can be filled. Its URL does not change. */
export class SmallDiskPostgres {
  readonly #directory = temporaryFolder();
  readonly #proxy = new TcpProxy();
  /**
   * Whether the server has a small disk, which can be full (ENOSPC). If the system does not allow the mount, the size of the
   * server's files is limited instead (EFBIG). Then the server cannot write either, and goes down sooner.
   */
  readonly hasMountedDisk: boolean;
  readonly #process: ChildProcess;
  /** Resolves to the exit code of the process and the signal that ended it. */
  readonly #exited: Promise<unknown[]>;
  url!: string;

  private constructor() {
    const probe = [...NAMESPACE_OPTIONS, 'sh', '-c', MOUNT, this.#directory, 'true'];
    this.hasMountedDisk = spawnSync('unshare', probe).status === 0;
    const server = [process.execPath, program, this.#directory];
    const [command, ...args] = this.hasMountedDisk
      ? ['unshare', ...NAMESPACE_OPTIONS, 'sh', '-c', MOUNT, this.#directory, ...server]
      : server;
    this.#process = spawn(command!, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    this.#exited = once(this.#process, 'exit');
  }

  static async start(): Promise<SmallDiskPostgres> {
    const postgres = new SmallDiskPostgres();
    afterThisFile(() => postgres.#end());
    await postgres.#waitForReply();
    await postgres.#proxy.open();
    await postgres.restart();
    return postgres;
  }

  /** Starts the server again, as a supervisor does after it has gone down. */
  async restart(): Promise<void> {
    const url = new URL(String(await this.#sendCommand('start')));
    this.#proxy.target = Number(url.port);
    url.port = String(this.#proxy.port);
    this.url = url.href;
  }

  async fill(): Promise<void> {
    if (this.hasMountedDisk) await this.#sendCommand('fill');
    else this.#limitFiles('1');
  }

  async free(): Promise<void> {
    if (this.hasMountedDisk) await this.#sendCommand('free');
    else this.#limitFiles('unlimited');
  }

  // Changes the soft limit only, which an unprivileged process may raise again.
  #limitFiles(bytes: string): void {
    for (const pid of processesOf(join(this.#directory, 'postgres')))
      execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
  }

  async #sendCommand(command: 'start' | 'fill' | 'free'): Promise<unknown> {
    this.#process.send(command);
    return this.#waitForReply();
  }

  async #waitForReply(): Promise<unknown> {
    const ended = this.#exited.then((codeAndSignal): never => {
      throw new Error(`The PostgreSQL with the small disk ended: ${codeAndSignal.join(', ')}`);
    });
    const [reply] = (await Promise.race([once(this.#process, 'message'), ended])) as [Reply];
    if ('failed' in reply) throw new Error(reply.failed);
    return reply.done;
  }

  async #end(): Promise<void> {
    this.#proxy.close();
    if (this.#process.connected) this.#process.disconnect();
    await this.#exited;
  }
}
