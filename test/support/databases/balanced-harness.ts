import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { MAX_WAIT_MS } from '../until.js';
import { attemptCall, TcpProxy, type Timed } from './outage-harness.js';
import { freePort, ServerProcess, startUntilReady } from '../processes/server-process.js';
import { startWithSample, type SampleLicense } from './sample-license.js';

const CONFIGURATION = fileURLToPath(new URL('../../../deploy/haproxy.cfg', import.meta.url));
const [, version, major, minor] =
  /version ((\d+)\.(\d+)[.\d]*)/.exec(spawnSync('haproxy', ['-v'], { encoding: 'utf8' }).stdout ?? '') ?? [];

/** The time without data after which the TCP forwarder closes a connection; an instance responds sooner. */
const IDLE_TIMEOUT_MS = 3_000;

/** Whether HAProxy is installed in a version that supports deploy/haproxy.cfg: 2.6 or later. */
export const HAS_HAPROXY = Number(major) * 100 + Number(minor) >= 206;
/** The kind of proxy, for the names of tests. */
export const PROXY_NAME = HAS_HAPROXY
  ? `HAProxy ${version}`
  : 'a TCP forwarder, because HAProxy 2.6 or later is not installed';

/** The proxy in front of the instances: HAProxy with deploy/haproxy.cfg, or a TCP forwarder where HAProxy is not installed. */
export interface Proxy {
  readonly url: string;
  /** Everything that the proxy has written to its standard output and error. */
  readonly output: string;
  /** Waits until the proxy detects that an instance (one, two, …) is down or up. The TCP forwarder does not check instances. */
  waitForInstanceState(instance: string, state: 'UP' | 'DOWN'): Promise<void>;
  close(): Promise<void>;
}

/** @param settings additional environment variables for HAProxy */
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
    // -db keeps HAProxy in the foreground.
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
    while (!(await acceptsConnections(port))) {
      if (proxy.#child.exitCode !== null) throw new Error(`HAProxy ended: ${proxy.output}`);
    }
    return proxy;
  }

  async waitForInstanceState(instance: string, state: 'UP' | 'DOWN'): Promise<void> {
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

async function acceptsConnections(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const isConnected = await Promise.race([
    once(socket, 'connect').then(() => true),
    once(socket, 'close').then(() => false),
  ]).catch(() => false);
  socket.destroy();
  return isConnected;
}

/** Forwards each connection to the next instance, whether that is available or not, and closes idle connections. */
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
    return far.setTimeout(IDLE_TIMEOUT_MS, () => far.destroy());
  }

  async waitForInstanceState(): Promise<void> {}

  override async close(): Promise<void> {
    super.close();
  }
}

/** Instances with one database and one key folder. Each keeps its port when it is restarted. */
export class Instances {
  readonly processes: ServerProcess[] = [];
  sample!: SampleLicense;

  private constructor(
    readonly ports: readonly number[],
    private readonly settings: Record<string, string>,
  ) {}

  static async start(count: number, settings: Record<string, string>): Promise<Instances> {
    const ports = await Promise.all(Array.from({ length: count }, freePort));
    const instances = new Instances(ports, settings);
    // The first one is started again until it has created the sample data, because a slow computer may prevent that.
    instances.sample = await startWithSample(settings['DATABASE_URL']!, () => instances.startInstance(0));
    await Promise.all([...ports.keys()].slice(1).map((index) => instances.startInstance(index)));
    return instances;
  }

  /** Starts or restarts an instance, and waits until it listens. */
  async startInstance(index: number): Promise<ServerProcess> {
    const settings = { ...this.settings, PORT: String(this.ports[index]!) };
    return startUntilReady(
      () => (this.processes[index] = new ServerProcess(settings, { hasProductionLimits: true })),
    );
  }

  async end(): Promise<void> {
    await Promise.all(this.processes.map((each) => (each.child.kill('SIGCONT'), each.end('SIGKILL'))));
  }
}

/** Waits until an instance responds to a client. @returns the waiting time in milliseconds */
export async function waitUntilUsed(instance: ServerProcess): Promise<number> {
  const since = performance.now();
  instance.stdout = '';
  await instance.waitForOutput('stdout', /"route":"\/v1\//);
  return performance.now() - since;
}

/** The final response to a call, and the number of attempts that got no response from an instance. */
export interface RetriedAnswer extends Timed {
  readonly brokenAttempts: number;
}

/** Makes a call, and repeats it after a 503 or a broken connection, as a client does. @throws Error if that takes too long */
export async function callUntilAnswered(
  name: string,
  base: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<RetriedAnswer> {
  // A client that calls every six hours opens a new connection each time.
  const headers = { connection: 'close' };
  const began = performance.now();
  let brokenAttempts = 0;
  for (; performance.now() - began < MAX_WAIT_MS; await pause(20)) {
    const answer = await attemptCall(name, base, method, path, body, headers);
    // A 503 that the proxy itself sends lacks this header, which every response of an instance has.
    if (!answer.headers['x-content-type-options']) brokenAttempts += 1;
    else if (answer.status !== 503) return { ...answer, brokenAttempts };
  }
  throw new Error(
    `${name} got no response other than 503; ${brokenAttempts} attempts got no response from an instance.`,
  );
}
