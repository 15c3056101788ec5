import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../scripts/free-port.mjs';
import { BUNDLE, ScriptError, node24, root, SERVICE_FLAGS } from '../../scripts/prepare.mjs';

/** The unit of processor time in /proc, which only Linux has. */
const PROCESSOR_TICK_MS = 10;

/** A service that is not ready after this time is given up. The time is long, because a busy machine is slow. */
const START_TIMEOUT_MS = 300_000;

/** Starts the child processes of a bench, and ends them. */
export class Processes {
  #children = [];
  #ended = false;

  /**
   * Starts the bundle of the service, in production mode unless the settings contain another `NODE_ENV`.
   * @param flags of Node, in addition to those of the service
   * @param other `program` and `serviceFlags`, if they are not those of production
   * @returns the process, with the milliseconds from its start to the first 200 of `/health/ready`
   */
  async startService(settings, flags = [], other = {}) {
    const { program = join(root, BUNDLE, 'main.js'), serviceFlags = SERVICE_FLAGS } = other;
    const port = await freePort();
    const environment = { ...settings, PORT: String(port), PUBLIC_URL: `http://localhost:${port}` };
    const began = performance.now();
    // In development the service prints a welcome text, which the output of a bench should not have.
    const stderr = settings.NODE_ENV === 'development' ? 'ignore' : 'inherit';
    const child = this.#start([...serviceFlags, ...flags, program], environment, stderr);
    while (performance.now() - began < START_TIMEOUT_MS && isAlive(child)) {
      const response = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => null);
      const readyMs = performance.now() - began;
      if (response?.ok) return { name: 'service', port, pid: child.pid, readyMs, child };
      await pause(20);
    }
    throw new ScriptError('The service ended or was not ready within five minutes.');
  }

  /** Starts one of the servers that the service is compared with. */
  async startComparisonServer(name, file, settings) {
    return this.startProgram(name, [join(root, 'bench/comparison/servers/run.mjs'), file], settings);
  }

  /** Starts a program that sends a message over the IPC channel, such as its port. @returns the process, with the message */
  async startProgram(name, args, settings) {
    const child = this.#start(args, settings);
    const message = await nextMessage(child, name);
    return { name, ...message, pid: child.pid, child };
  }

  /** Runs a command to its end. @throws ScriptError with the command's standard error, if it fails */
  async runCommand(args, settings) {
    const child = this.#start(args, settings, 'pipe');
    const [output, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    if (code !== 0) throw new ScriptError(output.trim());
  }

  /** Starts a load process. @returns a function that sends a message to the process, and returns its reply */
  startLoad(file, program = 'load.mjs') {
    const child = this.#start([join(root, 'bench/load', program), file], {});
    return (message) => {
      child.send(message);
      return nextMessage(child, 'load');
    };
  }

  async end() {
    this.#ended = true;
    await Promise.all(this.#children.map(endProcess));
  }

  // The process does not inherit the settings of the shell. Its standard output is discarded, because a terminal would slow it.
  #start(args, settings, stderr = 'inherit') {
    // After an interrupt the other processes have ended already, so no further one is started.
    if (this.#ended) throw new ScriptError('Interrupted.');
    const { PATH, HOME, TMPDIR } = process.env;
    const env = { PATH, HOME, ...(TMPDIR && { TMPDIR }), NODE_ENV: 'production', ...settings };
    const stdio = ['ignore', 'ignore', stderr, 'ipc'];
    // The child has its own process group, so Ctrl-C ends only the bench, which then ends its processes in order.
    const child = spawn(node24(), args, { cwd: root, env, stdio, detached: true });
    this.#children.push(child);
    return child;
  }
}

/** Ends a process, and waits until it has ended. */
export async function endProcess(child) {
  const exited = new Promise((resolve) => child.once('exit', resolve));
  if (!child.pid || !isAlive(child)) return;
  child.kill('SIGTERM');
  // The service ends within 10 seconds.
  const killTimer = setTimeout(() => child.kill('SIGKILL'), 12_000);
  await exited;
  clearTimeout(killTimer);
}

const isAlive = ({ exitCode, signalCode }) => exitCode === null && signalCode === null;

/** Waits for the next message of a child process. @throws ScriptError if the process ends first */
export function nextMessage(child, name) {
  return new Promise((resolve, reject) => {
    const onExit = () => reject(new ScriptError(`The process "${name}" ended early.`));
    child.once('exit', onExit);
    child.once('message', (message) => {
      child.removeListener('exit', onExit);
      resolve(message);
    });
  });
}

/** Reads the milliseconds of processor time that a process has used; null on other systems than Linux. */
export function readProcessorTime(pid) {
  if (process.platform !== 'linux') return null;
  return readTimes(pid).own;
}

/**
 * Reads the milliseconds of processor time that a PostgreSQL server has used, those of ended processes included. Linux only.
 * @param pid of the postmaster
 * @returns `total`, and the part of the process that replays the write-ahead log (`replay`; 0 on a primary)
 */
export function readServerTime(pid) {
  try {
    const { own, endedChildren } = readTimes(pid);
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
    let [total, replay] = [own + endedChildren, 0];
    for (const child of children) {
      const { own: ms } = readTimes(child);
      total += ms;
      if (readFileSync(`/proc/${child}/cmdline`, 'utf8').startsWith('postgres: startup')) replay += ms;
    }
    // A child that ended before the list of children was read is in neither, so all times are read again.
    return readTimes(pid).endedChildren === endedChildren ? { total, replay } : readServerTime(pid);
  } catch (error) {
    // A child has ended between two reads, so the next attempt finds its time with the ended ones.
    if (['ENOENT', 'ESRCH'].includes(error.code) && existsSync(`/proc/${pid}`)) return readServerTime(pid);
    throw error;
  }
}

/** Reads the milliseconds of processor time of a process, and of its children that have ended. */
function readTimes(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ');
  const [user, system, childrenUser, childrenSystem] = fields.slice(11, 15).map(Number);
  return {
    own: (user + system) * PROCESSOR_TICK_MS,
    endedChildren: (childrenUser + childrenSystem) * PROCESSOR_TICK_MS,
  };
}

/** Reads the resident memory of a process (`VmRSS`) in bytes; null on other systems than Linux. */
export function readResidentMemory(pid) {
  if (process.platform !== 'linux') return null;
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024;
}

/** Sends a message to a service in which a module that Node loaded with `--import` answers it. @returns the answer */
export function ask(child, message) {
  child.send(message);
  return nextMessage(child, 'service');
}

/** Reads the heap size after a garbage collection, and the number of TCP sockets, of a service started with `heap.mjs`. */
export const readHeap = (child) => ask(child, 'heap');
