import diagnostics from 'node:diagnostics_channel';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';

const PROFILE = Symbol.for('mooring.profile');
/** Clock ticks of Linux in a second, the unit of times in /proc. */
const TICKS = 100;

/** How one test file spends its time; `npm test -- --profile` adds the files up. */
export class FileProfile {
  #path;
  #began = performance.now();
  #cpu = cpuSeconds();
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

  on(event) {
    if (event.name === 'run_start') this.add('loading the file', performance.now() - this.#began);
  }

  write() {
    diagnostics.unsubscribe('child_process', this.#onSpawn);
    delete globalThis[PROFILE];
    const cpu = cpuSeconds();
    const line = {
      path: this.#path,
      seconds: (performance.now() - this.#began) / 1000,
      own: cpu.own - this.#cpu.own,
      children: cpu.children - this.#cpu.children,
      rss: process.memoryUsage.rss(),
      kinds: Object.fromEntries(this.#kinds),
    };
    appendFileSync(process.env.MOORING_PROFILE, `${JSON.stringify(line)}\n`);
  }
}

function nameOf(args) {
  const text = args.join(' ');
  const known =
    /(cli\.js|main\.js|warm-cli\.mjs|initdb|postgres\b|chrom\w*)/.exec(text)?.[1] ??
    /[\w-]+\.mjs/.exec(text)?.[0];
  return known ?? args[0].split('/').at(-1);
}

function cpuSeconds() {
  const { user, system } = process.cpuUsage();
  return { own: (user + system) / 1e6, children: cpuOf('self').children };
}

/** Records the processor time of the PostgreSQL of the run, with its backends that have ended. */
export function notePostgres(pid) {
  const { own, children } = cpuOf(pid);
  appendFileSync(process.env.MOORING_PROFILE, `${JSON.stringify({ postgres: own + children })}\n`);
}

/** The processor time of a process and of its ended children in seconds; known on Linux only. */
function cpuOf(pid) {
  const file = `/proc/${pid}/stat`;
  if (!existsSync(file)) return { own: 0, children: 0 };
  // After the command in brackets: user and system time of its own are the 12th and 13th field, then those of its children.
  const fields = readFileSync(file, 'utf8').split(') ')[1].split(' ').slice(11, 15);
  const [user, system, ...children] = fields.map((ticks) => Number(ticks) / TICKS);
  return { own: user + system, children: children[0] + children[1] };
}
