import diagnostics from 'node:diagnostics_channel';
import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';

const PROFILE = Symbol.for('mooring.profile');
/** The number of clock ticks in a second on Linux; /proc has times in ticks. */
const TICKS_PER_SECOND = 100;

/** Measures how a test file spends its time. `npm test -- --profile` adds up the results of all files. */
export class FileProfile {
  #path;
  #began = performance.now();
  #cpuBefore = cpuSeconds();
  #kinds = new Map();
  #onSpawn = ({ process: child }) => {
    child.once('spawn', () => {
      const began = performance.now();
      const kind = `child: ${nameOf(child.spawnargs)}`;
      this.add(kind, 0);
      child.once('exit', () => this.add(kind, performance.now() - began, 0));
    });
  };

  constructor(path) {
    this.#path = path;
    globalThis[PROFILE] = this;
    diagnostics.subscribe('child_process', this.#onSpawn);
  }

  add(kind, milliseconds, count = 1) {
    const spent = this.#kinds.get(kind) ?? { count: 0, milliseconds: 0 };
    spent.count += count;
    spent.milliseconds += milliseconds;
    this.#kinds.set(kind, spent);
  }

  handleEvent(event) {
    if (event.name !== 'run_start') return;
    const inServices = this.#kinds.get('starting a service')?.milliseconds ?? 0;
    this.add('loading the file', performance.now() - this.#began - inServices);
  }

  write() {
    diagnostics.unsubscribe('child_process', this.#onSpawn);
    delete globalThis[PROFILE];
    const cpu = cpuSeconds();
    const line = {
      path: this.#path,
      seconds: (performance.now() - this.#began) / 1000,
      own: cpu.own - this.#cpuBefore.own,
      // The time of a killed browser's own child processes is lost at its end, so the difference could be negative.
      children: Math.max(0, cpu.children - this.#cpuBefore.children),
      rss: process.memoryUsage.rss(),
      kinds: Object.fromEntries(this.#kinds),
    };
    appendFileSync(process.env.MOORING_PROFILE, `${JSON.stringify(line)}\n`);
  }
}

/** Returns a short name for a command line. */
function nameOf(args) {
  const text = args.join(' ');
  const known =
    /(cli\.js|main\.js|warm-cli\.mjs|initdb|postgres\b|chrom\w*)/.exec(text)?.[1] ??
    /[\w-]+\.mjs/.exec(text)?.[0];
  return known ?? args[0].split('/').at(-1);
}

function cpuSeconds() {
  const { user, system } = process.cpuUsage();
  return { own: (user + system) / 1e6, children: cpuOf('self').children + cpuOfDescendants(process.pid) };
}

/** Reads the processor time of the running processes below a process, such as the browser that test files share. */
function cpuOfDescendants(ancestor) {
  if (!existsSync('/proc/self/stat')) return 0;
  const running = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const parents = new Map(running.map((pid) => [Number(pid), fieldsOf(pid)[1]]));
  const isBelow = (pid) => pid > 1 && (parents.get(pid) === ancestor || isBelow(parents.get(pid)));
  return [...parents.keys()]
    .filter(isBelow)
    .map(cpuOf)
    .reduce((sum, { own, children }) => sum + own + children, 0);
}

/** Records the processor time of the PostgreSQL of the run, including that of backends that have ended. */
export function writePostgresProfile(pid) {
  const { own, children } = cpuOf(pid);
  appendFileSync(process.env.MOORING_PROFILE, `${JSON.stringify({ postgres: own + children })}\n`);
}

/** Reads the processor time of a process and of its ended children in seconds; 0 if it has ended, or if the system is not Linux. */
function cpuOf(pid) {
  const [user, system, ...children] = fieldsOf(pid)
    .slice(11, 15)
    .map((ticks) => ticks / TICKS_PER_SECOND);
  return { own: user + system, children: children[0] + children[1] };
}

/**
 * Reads what /proc says about a process, from the fields after the command in brackets: the second is its parent, the 12th and 13th
 * are its user and system time, and the next two those of its ended children. All are 0 without this process.
 */
function fieldsOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ').map(Number);
  } catch {
    return Array.from({ length: 15 }, () => 0);
  }
}
