import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { baseEnvironment } from './server-process.js';
import { shareProcess } from '../runner/shared-processes.mjs';

const PROGRAM = fileURLToPath(new URL('./warm-cli.mjs', import.meta.url));

export interface Command {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Record<string, string>;
  readonly stdin: string;
  /** The file that the command can read from file descriptor 3. */
  readonly fd3File?: string;
}

interface Outcome {
  readonly code: number;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
}

/** A process that runs commands one after the other. It ends with the worker process that started it. */
class WarmProcess {
  readonly #child = fork(PROGRAM, {
    // With a lower limit, V8 collects garbage before it requests more memory.
    execArgv: [
      '--disable-warning=ExperimentalWarning',
      '--max-semi-space-size=2',
      '--max-old-space-size=256',
    ],
    env: baseEnvironment(),
    // The descriptor 3 is free for commands.
    stdio: ['ignore', 'inherit', 'inherit', 'ignore', 'ipc'],
    serialization: 'advanced',
  });
  #running: PromiseWithResolvers<Outcome> | undefined;

  constructor() {
    shareProcess(this.#child);
    this.#child.on('message', (outcome: Outcome) => this.#running?.resolve(outcome));
    this.#child.on('error', (error) => this.#running?.reject(error));
    this.#child.on('exit', (code, signal) =>
      this.#running?.reject(new Error(`The command ended its process (${code ?? signal}).`)),
    );
  }

  run(command: Command): Promise<Outcome> {
    this.#running = Promise.withResolvers();
    this.#child.ref();
    this.#child.channel!.ref();
    this.#child.send(command);
    return this.#running.promise;
  }

  async end(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }

  /** Allows the worker process to end although this process still runs. */
  unref(): this {
    this.#child.unref();
    this.#child.channel!.unref();
    return this;
  }
}

/** The processes that wait for a command, at most one: commands seldom run at the same time, and a process takes 80 MB. */
const idle: WarmProcess[] = [];

/** Runs a command in a process that may have run others before, because loading the program takes longer than most commands. */
export async function runWarm(command: Command): Promise<Outcome> {
  const warm = idle.pop() ?? new WarmProcess();
  const outcome = await warm.run(command);
  if (idle.length > 0) await warm.end();
  else idle.push(warm.unref());
  return outcome;
}
