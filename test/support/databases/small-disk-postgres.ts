import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TcpProxy, processesOf } from './outage-harness.js';

/** A fresh cluster and its log take some 60 MB. */
const SIZE = '128m';
/** A disk of its own that no other process sees: root or not, in a namespace where mounting one harms nothing. */
const IN_NAMESPACE = ['-U', '--map-root-user', '--mount'];
const MOUNT = `mount -t tmpfs -o size=${SIZE} none "$0" && exec "$@"`;
const program = fileURLToPath(new URL('./small-disk.mjs', import.meta.url));

type Reply = { readonly done: unknown } | { readonly failed: string };

/** A PostgreSQL whose disk can be full, always at the same address. */
export class SmallDiskPostgres {
  readonly #directory = mkdtempSync(join(tmpdir(), 'mooring-disk-'));
  readonly #proxy = new TcpProxy();
  /**
   * Whether it has a disk of its own that is really full (ENOSPC). Where the system forbids mounting one, its files may
   * grow no more instead (EFBIG): then it cannot write either, and goes down sooner.
   */
  readonly isReal: boolean;
  readonly #process: ChildProcess;
  /** Its exit code, if it has one, and its signal. */
  readonly #exited: Promise<unknown[]>;
  url!: string;

  private constructor() {
    const probe = [...IN_NAMESPACE, 'sh', '-c', MOUNT, this.#directory, 'true'];
    this.isReal = spawnSync('unshare', probe).status === 0;
    const server = [process.execPath, program, this.#directory];
    const [command, ...args] = this.isReal
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

  /** Starts it again, as its supervisor does once it has gone down. */
  async restart(): Promise<void> {
    const url = new URL(String(await this.#tell('start')));
    this.#proxy.target = Number(url.port);
    url.port = String(this.#proxy.port);
    this.url = url.href;
  }

  async fill(): Promise<void> {
    if (this.isReal) await this.#tell('fill');
    else this.#limitFiles('1');
  }

  async free(): Promise<void> {
    if (this.isReal) await this.#tell('free');
    else this.#limitFiles('unlimited');
  }

  // The soft limit only, which an unprivileged process may raise again.
  #limitFiles(bytes: string): void {
    for (const pid of processesOf(join(this.#directory, 'postgres')))
      execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
  }

  async #tell(what: 'start' | 'fill' | 'free'): Promise<unknown> {
    this.#process.send(what);
    return this.#reply();
  }

  async #reply(): Promise<unknown> {
    const ended = this.#exited.then((how): never => {
      throw new Error(`the PostgreSQL of a full disk ended: ${how.join(', ')}`);
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
