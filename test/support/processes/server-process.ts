import { spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterThisFile } from '../of-this-file.js';
import { ofBuild } from './build.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
export const MAIN = fileURLToPath(ofBuild('main.js'));
const generousLimits = fileURLToPath(new URL('./generous-limits.mjs', import.meta.url));

export interface ProcessOptions {
  /** Arguments for Node, before the program. */
  readonly nodeArguments?: readonly string[];
  /** The folder of the service, if it is not that of the project: an unpacked package. */
  readonly folder?: string;
  /** Whether the process has an IPC channel, as with `npm start`. */
  readonly hasIpc?: boolean;
  /** The file descriptor for standard output; by default the output is collected in `stdout`. */
  readonly stdout?: number;
  /** The limit of open files and sockets; by default that of the system. */
  readonly descriptors?: number;
  /** Whether requests have the time limits of production, for tests of these limits. */
  readonly hasProductionLimits?: boolean;
}

/** The environment of each process of a test: PATH, the mode, the shared compile cache, and the build. */
export const baseEnvironment = (): Record<string, string> => ({
  PATH: process.env['PATH']!,
  NODE_ENV: 'development',
  NODE_COMPILE_CACHE: process.env['MOORING_TEST_COMPILE_CACHE']!,
  ...(process.env['MOORING_TEST_BUILD'] && { MOORING_TEST_BUILD: process.env['MOORING_TEST_BUILD'] }),
});

/** The built service (`build.mjs`) in a process with this environment. It ends at the end of the test file, or by `end`. */
export class ServerProcess {
  /** The text that was written to standard output and standard error so far. */
  stdout = '';
  stderr = '';
  readonly child: ChildProcess;
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  readonly #wrote = new EventEmitter();
  /** Whether the process has ended and all its output has arrived. */
  #hasEnded = false;

  constructor(
    environment: Record<string, string>,
    {
      nodeArguments = [],
      folder = root,
      hasIpc = false,
      stdout,
      descriptors,
      hasProductionLimits = false,
    }: ProcessOptions = {},
  ) {
    afterThisFile(() => this.end());
    const main = folder === root ? MAIN : join(folder, 'dist/main.js');
    const limits = hasProductionLimits ? [] : ['--import', generousLimits];
    const args = ['--disable-warning=ExperimentalWarning', ...limits, ...nodeArguments, main];
    const env = { ...baseEnvironment(), ...environment };
    const stdio = ['ignore', stdout ?? 'pipe', 'pipe', ...(hasIpc ? ['ipc' as const] : [])] as const;
    // The shell replaces itself with the program (`exec`), so its process id is that of the service.
    const limited = ['-c', `ulimit -n ${descriptors}; exec "$0" "$@"`, process.execPath, ...args];
    const [program, all] = descriptors === undefined ? [process.execPath, args] : ['sh', limited];
    this.child = spawn(program, all, { cwd: folder, env, stdio: [...stdio] });
    const streams = stdout === undefined ? (['stdout', 'stderr'] as const) : (['stderr'] as const);
    for (const stream of streams) {
      this.child[stream]!.setEncoding('utf8').on('data', (text: string) => {
        this[stream] += text;
        this.#wrote.emit('text');
      });
    }
    // After the exit and the end of the streams all output has arrived. `close` is not emitted after the IPC channel is closed.
    const ends = streams.map((stream) => once(this.child[stream]!, 'end'));
    this.exited = Promise.all([once(this.child, 'exit'), ...ends]).then(([[code, signal]]) => {
      this.#hasEnded = true;
      this.#wrote.emit('text');
      return { code: code as number | null, signal: signal as NodeJS.Signals | null };
    });
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Waits until the output matches a pattern. @throws Error with the end of standard error if the process ends first */
  async waitForOutput(stream: 'stdout' | 'stderr', pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this[stream]);
      if (found) return found;
      // The last output may arrive after the exit of the process.
      if (this.#hasEnded)
        throw new Error(
          `The process ended before its output matched ${pattern}: ${this.stderr.slice(-2000)}`,
        );
      await once(this.#wrote, 'text');
    }
  }

  /** Waits until the service listens and has printed its welcome, which it prints only in development. */
  async ready(): Promise<this> {
    await this.waitForOutput('stderr', /The command line: .*\n/);
    return this;
  }

  /** Sends a signal, and waits until the process has ended. */
  async end(signal: NodeJS.Signals = 'SIGTERM') {
    if (this.isRunning) this.child.kill(signal);
    return this.exited;
  }
}

/** What the service prints if its start fails because the database did not answer within the time limits of requests. */
const EXCEEDED_LIMIT =
  /^(Connection terminated|timeout exceeded when trying to connect|canceling statement due to statement timeout)/m;

/**
 * Starts a service with the time limits of production, and waits until it listens. If a slow computer exceeds a limit during the
 * start, the process ends with exit code 1, and is started again, as by a supervisor.
 */
export async function startUntilReady(start: () => ServerProcess): Promise<ServerProcess> {
  for (;;) {
    const server = start();
    try {
      return await server.ready();
    } catch (error) {
      const { code } = await server.exited;
      if (code !== 1 || !EXCEEDED_LIMIT.test(server.stderr)) throw error;
    }
  }
}

// Each Jest worker (`maxWorkers` in jest.config.js) has its own range of ports, below the ephemeral ports, so that no other
// process takes one before it is used.
const [FIRST_PORT, PORTS_PER_WORKER] = [10_000, 4_000];
const MAX_WORKERS = 3;
const firstPortOfWorker =
  FIRST_PORT + (Number(process.env['JEST_WORKER_ID'] ?? 1) % MAX_WORKERS) * PORTS_PER_WORKER;
// Another test run at the same time begins at another port.
let lastOffset = randomInt(PORTS_PER_WORKER);

/** Returns a free port of 127.0.0.1 that no other test of this run gets. */
export async function freePort(): Promise<number> {
  for (;;) {
    lastOffset += 1;
    const port = firstPortOfWorker + (lastOffset % PORTS_PER_WORKER);
    if (await isFreePort(port)) return port;
  }
}

/** Returns whether no process listens on a port of 127.0.0.1. */
export async function isFreePort(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  const isFree = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  if (!isFree) return false;
  server.close();
  await once(server, 'close');
  return true;
}
