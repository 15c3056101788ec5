import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../scripts/demo-output.mjs';
import { Fault, node24, root, SERVICE_FLAGS } from '../../scripts/prepare.mjs';

/** Linux counts processor time in hundredths of a second; elsewhere it is not read. */
const TICK_MS = 10;

/** Everything that the bench started, each by its own id, and how it is ended. */
export class Processes {
  #children = [];
  #ended = false;

  /**
   * The service, as it runs in production.
   * @param flags of Node's
   * @returns with the milliseconds from the start of the process to the first answer that it is ready
   */
  async service(settings, flags = []) {
    const port = await freePort();
    const environment = { ...settings, PORT: String(port), PUBLIC_URL: `http://localhost:${port}` };
    const began = performance.now();
    // In development it prints a greeting.
    const stderr = settings.NODE_ENV === 'development' ? 'ignore' : 'inherit';
    const child = this.#start([...SERVICE_FLAGS, ...flags, join(root, 'dist/main.js')], environment, stderr);
    while (performance.now() - began < 30_000 && isAlive(child)) {
      const answer = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => null);
      const readyMs = performance.now() - began;
      if (answer?.ok) return { name: 'service', port, pid: child.pid, readyMs, child };
      await pause(20);
    }
    throw new Fault('The service did not start.');
  }

  async rival(name, file, settings) {
    return this.program(name, [join(root, 'bench/comparison/servers/run.mjs'), file], settings);
  }

  /** A program of ours, which says over its channel where it listens. */
  async program(name, args, settings) {
    const child = this.#start(args, settings);
    const { port } = await reported(child, name);
    return { name, port, pid: child.pid, child };
  }

  /** A command that is run to its end. @throws Fault what it says where it fails */
  async command(args, settings) {
    const child = this.#start(args, settings, 'pipe');
    const [output, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    if (code !== 0) throw new Fault(output.trim());
  }

  /** @returns a function that has one round run, and answers what came of it */
  load(file, program = 'load.mjs') {
    const child = this.#start([join(root, 'bench/load', program), file], {});
    return (round) => {
      child.send(round);
      return reported(child, 'load');
    };
  }

  async end() {
    this.#ended = true;
    await Promise.all(this.#children.map(endProcess));
  }

  // Not the settings of the caller's shell. Output goes where production's does not cost a terminal either.
  #start(args, settings, stderr = 'inherit') {
    // Interrupted between two of them.
    if (this.#ended) throw new Fault('Interrupted.');
    const { PATH, HOME, TMPDIR } = process.env;
    const env = { PATH, HOME, ...(TMPDIR && { TMPDIR }), NODE_ENV: 'production', ...settings };
    const stdio = ['ignore', 'ignore', stderr, 'ipc'];
    // A group of its own: Ctrl-C ends the bench, which ends them.
    const child = spawn(node24(), args, { cwd: root, env, stdio, detached: true });
    this.#children.push(child);
    return child;
  }
}

/** Tells one of them to end, and waits until it has. */
export async function endProcess(child) {
  const gone = new Promise((resolve) => child.once('exit', resolve));
  if (!child.pid || !isAlive(child)) return;
  child.kill('SIGTERM');
  const late = setTimeout(() => child.kill('SIGKILL'), 12_000);
  await gone;
  clearTimeout(late);
}

const isAlive = ({ exitCode, signalCode }) => exitCode === null && signalCode === null;

/** What a child says next over its channel. @throws Fault where it ends without a word */
export function reported(child, name) {
  return new Promise((resolve, reject) => {
    const gone = () => reject(new Fault(`The process "${name}" ended early.`));
    child.once('exit', gone);
    child.once('message', (message) => {
      child.removeListener('exit', gone);
      resolve(message);
    });
  });
}

/** Milliseconds of processor time that a process has used; null where that cannot be read. */
export function processorTime(pid) {
  if (process.platform !== 'linux') return null;
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Bytes of memory that a process holds (`VmRSS`); null where that cannot be read. */
export function residentMemory(pid) {
  if (process.platform !== 'linux') return null;
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024;
}

/** What a service started with `heap.mjs` says of its memory, after everything was let go that can be. */
export function heapOf(child) {
  child.send('heap');
  return reported(child, 'service');
}
