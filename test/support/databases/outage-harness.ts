import { once } from 'node:events';
import { createServer, connect, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../../src/database/embedded/embedded-postgres.js';
import { readPidFile } from '../../../src/database/embedded/pid-file.js';
import { isPostmaster, until } from '../../../src/database/embedded/postgres-process.js';
import { call, isConnectionLost, type Answer } from '../harness.js';
import { everyProcess } from '../processes/processes.js';
import { freePort } from '../processes/server-process.js';
import { temporaryFolder } from '../folders.js';
import { afterThisFile } from '../of-this-file.js';
import { copyMigratedCluster } from './own-postgres.js';

/** A PostgreSQL server of one test, with a migrated database. It can be stopped, frozen and restarted; its URL does not change. */
export class FragilePostgres {
  readonly #directory = temporaryFolder();
  readonly #proxy = new TcpProxy();
  #server!: EmbeddedPostgres;
  /** The URL of the proxy before the server, because the server has another port after a restart. */
  url!: string;

  static async start(): Promise<FragilePostgres> {
    const postgres = new FragilePostgres();
    copyMigratedCluster(postgres.#directory);
    await postgres.#proxy.open();
    await postgres.restart();
    afterThisFile(() => postgres.end());
    return postgres;
  }

  /** Ends the server at once and breaks its connections: its clients notice it immediately, and no open transaction completes. */
  async stop(): Promise<void> {
    this.#proxy.close();
    await this.kill('SIGQUIT');
  }

  /** Ends the postmaster. SIGQUIT also ends its children; after SIGKILL they continue until they notice. */
  async kill(signal: 'SIGKILL' | 'SIGQUIT' = 'SIGKILL'): Promise<void> {
    const { pid } = readPidFile(this.cluster)!;
    process.kill(pid, signal);
    await until(() => !isPostmaster(pid, this.cluster), 10);
    await this.#server.stop();
  }

  /** Breaks every connection to the server; new ones are accepted at once. */
  cutConnections(): void {
    this.#proxy.cut();
  }

  /** Delays each response of the server from now on. */
  delay(milliseconds: number): void {
    this.#proxy.delayMs = milliseconds;
  }

  async restart(): Promise<void> {
    this.#server = await startEmbeddedPostgres(this.#directory, { durable: false });
    const url = new URL(this.#server.url);
    this.#proxy.target = Number(url.port);
    await this.#proxy.open();
    url.port = String(this.#proxy.port);
    this.url = url.href;
  }

  /** Stops every process of the server (SIGSTOP). The kernel accepts connections, which get no response. */
  freeze(): void {
    signalServer(this.cluster, 'SIGSTOP');
  }

  thaw(): void {
    signalServer(this.cluster, 'SIGCONT');
  }

  async end(): Promise<void> {
    this.thaw();
    this.#proxy.close();
    await this.#server.stop();
  }

  /** The data directory of the server. */
  get cluster(): string {
    return join(this.#directory, 'postgres');
  }
}

/** Sends a signal to every process of the server of a cluster, also to a child that the postmaster starts meanwhile. */
export function signalServer(cluster: string, signal: NodeJS.Signals): void {
  const signalled = new Set<number>();
  for (let found; (found = processesOf(cluster).filter((pid) => !signalled.has(pid))).length > 0;) {
    for (const pid of found) {
      signalled.add(pid);
      try {
        process.kill(pid, signal);
      } catch {
        // The child has ended meanwhile.
      }
    }
  }
}

/** The process ids of the postmaster, which is the first, and of its children. */
export function processesOf(cluster: string): number[] {
  const { pid } = readPidFile(cluster) ?? {};
  if (pid === undefined || !isPostmaster(pid, cluster)) return [];
  const children = everyProcess().filter(({ parent }) => parent === pid);
  return [pid, ...children.map((child) => child.pid)];
}

/** A TCP proxy to a port. While the proxy is closed, connections are refused. */
export class TcpProxy {
  /** The delay of data from the target. */
  delayMs = 0;
  /** The port to which connections are forwarded. */
  target = 0;
  port = 0;
  #server?: Server;
  readonly #sockets = new Set<Socket>();

  async open(): Promise<void> {
    if (this.#server?.listening) return;
    afterThisFile(() => this.close());
    this.#server = createServer((near) => {
      const far = this.connectToTarget();
      near.pipe(far);
      far.pipe(createDelayStream(() => this.delayMs)).pipe(near);
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => (this.#sockets.delete(socket), other.destroy()));
      }
    });
    this.port ||= await freePort();
    await once(this.#server.listen(this.port, '127.0.0.1'), 'listening');
  }

  close(): void {
    this.#server?.close();
    this.cut();
  }

  /** Breaks every connection; new ones are accepted at once. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /**
   * Forwards nothing more over the open connections and does not close them, as if the target had lost its power; new ones work.
   */
  silence(): void {
    for (const socket of this.#sockets) socket.unpipe().pause();
  }

  /** Opens the connection to the target for a connection of a client. */
  protected connectToTarget(): Socket {
    return connect(this.target, '127.0.0.1');
  }
}

/** Creates a stream that passes its chunks on in order, each after a delay that begins when the one before it was passed on. */
function createDelayStream(readDelayMs: () => number): Transform {
  return new Transform({
    transform(chunk, _encoding, done) {
      const delayMs = readDelayMs();
      if (delayMs === 0) done(null, chunk);
      else setTimeout(done, delayMs, null, chunk);
    },
  });
}

/** A response, with the name of the call and its duration. */
export interface Timed extends Answer {
  readonly name: string;
  readonly milliseconds: number;
}

/** Makes calls until it is stopped. Each caller makes its next call `pauseMs` after the response to its last one. */
export class Load<LoadAnswer extends Timed = Timed> {
  readonly answers: LoadAnswer[] = [];
  pauseMs = 20;
  #running = true;
  #onAnswer: () => void = () => undefined;
  readonly #callers: Promise<unknown>;

  /** @param callers each function makes one call and returns the response; an error ends and fails the load */
  constructor(callers: (() => Promise<LoadAnswer>)[]) {
    this.#callers = Promise.all(
      callers.map(async (caller) => {
        while (this.#running) {
          this.answers.push(await caller());
          this.#onAnswer();
          await pause(this.pauseMs);
        }
      }),
    );
    this.#callers.catch(() => undefined);
  }

  /** Waits until this many more of the wanted responses have come. */
  async waitFor(count: number, wanted: (answer: LoadAnswer) => boolean): Promise<void> {
    let missing = count;
    for (let checked = this.answers.length; missing > 0;) {
      await Promise.race([new Promise<void>((resolve) => (this.#onAnswer = resolve)), this.#callers]);
      if (!this.#running) throw new Error('The load ended before the wanted responses came.');
      for (; checked < this.answers.length; checked += 1) if (wanted(this.answers[checked]!)) missing -= 1;
    }
  }

  async stop(): Promise<LoadAnswer[]> {
    this.#running = false;
    this.#onAnswer();
    await this.#callers;
    return this.answers;
  }
}

/** The parameters of `call` after the base URL. */
type Request = [method: string, path: string, body?: unknown, headers?: Record<string, string>];

/** Makes a call and measures its duration. */
async function timedCall(name: string, base: string, ...request: Request): Promise<Timed> {
  const started = performance.now();
  const answer = await call(base, ...request);
  return { ...answer, name, milliseconds: performance.now() - started };
}

/** Makes a call and measures its duration. The result has the status 0 if the connection breaks. */
export async function attemptCall(name: string, base: string, ...request: Request): Promise<Timed> {
  const started = performance.now();
  return timedCall(name, base, ...request).catch((error: Error) => {
    if (!isConnectionLost(error)) throw error;
    const milliseconds = performance.now() - started;
    return { name, status: 0, headers: {}, cookies: [], text: '', json: {}, milliseconds };
  });
}
