import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { GUARD_MS } from '../harness.js';
import { TcpProxy, tried, type Timed } from './outage-harness.js';
import { freePort, ServerProcess } from '../processes/server-process.js';

const CONFIGURATION = fileURLToPath(new URL('../../../deploy/haproxy.cfg', import.meta.url));
const [, version, major, minor] =
  /version ((\d+)\.(\d+)[.\d]*)/.exec(spawnSync('haproxy', ['-v'], { encoding: 'utf8' }).stdout ?? '') ?? [];

/** How long the TCP forwarder keeps a silent connection; longer than an instance takes to respond. */
const SILENCE_MS = 3_000;

/** Whether HAProxy is installed in a version that supports our configuration. */
export const HAS_HAPROXY = Number(major) * 100 + Number(minor) >= 206;
/** The kind of proxy, for the name of a test. */
export const PROXY_NAME = HAS_HAPROXY
  ? `HAProxy ${version}`
  : 'a plain door, since HAProxy 2.6 is not installed';

/** The proxy in front of the instances: HAProxy with the configuration we ship, or a plain TCP forwarder. */
export interface Proxy {
  readonly url: string;
  /** All that it has written to its output. */
  readonly output: string;
  /** Waits until it has noticed that an instance (one, two, …) is down or up. The TCP forwarder notices nothing. */
  notices(instance: string, state: 'UP' | 'DOWN'): Promise<void>;
  close(): Promise<void>;
}

/** @param settings more settings of HAProxy */
export async function openProxy(
  ports: readonly number[],
  settings: Readonly<Record<string, string>> = {},
): Promise<Proxy> {
  return HAS_HAPROXY ? HAProxy.start(ports, settings) : TcpForwarder.start(ports);
}

class HAProxy implements Proxy {
  output = '';
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  private constructor(
    readonly url: string,
    environment: Record<string, string>,
  ) {
    const env = { PATH: process.env['PATH']!, PUBLIC_URL: url, ...environment };
    this.#child = spawn('haproxy', ['-db', '-f', CONFIGURATION], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#exited = once(this.#child, 'close');
    for (const stream of [this.#child.stdout!, this.#child.stderr!])
      stream.setEncoding('utf8').on('data', (text: string) => void (this.output += text));
  }

  static async start(ports: readonly number[], settings: Readonly<Record<string, string>>): Promise<HAProxy> {
    const port = await freePort();
    const instances = ports.map((each, index) => [`INSTANCE_${index + 1}`, `127.0.0.1:${each}`] as const);
    const environment = { LISTEN: `127.0.0.1:${port}`, ...Object.fromEntries(instances), ...settings };
    const proxy = new HAProxy(`http://127.0.0.1:${port}`, environment);
    while (!(await accepts(port))) {
      if (proxy.#child.exitCode !== null) throw new Error(`HAProxy ended: ${proxy.output}`);
    }
    return proxy;
  }

  async notices(instance: string, state: 'UP' | 'DOWN'): Promise<void> {
    const [from, pattern] = [this.output.length, new RegExp(`Server instances/${instance} is ${state}`)];
    while (!pattern.test(this.output.slice(from))) {
      if (!this.#child.stderr!.readable) throw new Error(`HAProxy ended: ${this.output}`);
      await Promise.race([once(this.#child.stderr!, 'data'), this.#exited]);
    }
  }

  async close(): Promise<void> {
    this.#child.kill();
    await this.#exited;
  }
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const heard = await Promise.race([
    once(socket, 'connect').then(() => true),
    once(socket, 'close').then(() => false),
  ]).catch(() => false);
  socket.destroy();
  return heard;
}

/** Forwards each connection to the next instance, available or not, and cuts silent ones. */
class TcpForwarder extends TcpProxy implements Proxy {
  readonly output = '';
  #turn = 0;

  private constructor(private readonly ports: readonly number[]) {
    super();
  }

  static async start(ports: readonly number[]): Promise<TcpForwarder> {
    const forwarder = new TcpForwarder(ports);
    await forwarder.open();
    return forwarder;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  protected override connectToTarget(): Socket {
    const far = connect(this.ports[(this.#turn += 1) % this.ports.length]!, '127.0.0.1');
    return far.setTimeout(SILENCE_MS, () => far.destroy());
  }

  async notices(): Promise<void> {}

  override async close(): Promise<void> {
    super.close();
  }
}

/** Instances that share a database and their keys, each on a port that it keeps. */
export class Instances {
  readonly processes: ServerProcess[] = [];

  private constructor(
    readonly ports: readonly number[],
    private readonly settings: Record<string, string>,
  ) {}

  static async start(count: number, settings: Record<string, string>): Promise<Instances> {
    const ports = await Promise.all(Array.from({ length: count }, freePort));
    const instances = new Instances(ports, settings);
    await Promise.all(ports.map(async (_port, index) => instances.revive(index)));
    return instances;
  }

  /** Starts or restarts an instance, and waits until it listens. */
  async revive(index: number): Promise<ServerProcess> {
    const started = new ServerProcess(
      { ...this.settings, PORT: String(this.ports[index]!) },
      { limitsOfProduction: true },
    );
    this.processes[index] = started;
    return started.ready();
  }

  async end(): Promise<void> {
    await Promise.all(this.processes.map((each) => (each.child.kill('SIGCONT'), each.end('SIGKILL'))));
  }
}

/** Waits until an instance responds to a client. @returns how many milliseconds it took */
export async function usedAgain(instance: ServerProcess): Promise<number> {
  const since = performance.now();
  instance.stdout = '';
  await instance.says('stdout', /"route":"\/v1\//);
  return performance.now() - since;
}

/** An answer, and the number of attempts without one. */
export interface Persisted extends Timed {
  readonly broken: number;
}

/** Makes a call as a client does, and repeats it after a 503 or a broken connection. @throws if that takes too long */
export async function persist(
  name: string,
  base: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<Persisted> {
  // A client that calls every six hours has no connection yet.
  const headers = { connection: 'close' };
  const began = performance.now();
  let broken = 0;
  for (; performance.now() - began < GUARD_MS; await pause(20)) {
    const answer = await tried(name, base, method, path, body, headers);
    // The proxy's own refusals lack a header that every response of an instance has.
    if (!answer.headers['x-content-type-options']) broken += 1;
    else if (answer.status !== 503) return { ...answer, broken };
  }
  throw new Error(`${name}: no answer, ${broken} times`);
}
