import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { TcpProxy } from '../../support/databases/outage-harness.js';
import { freePort, ServerProcess } from '../../support/processes/server-process.js';
import type { Instance } from './deployment.js';

const WRONG_CLOCK = fileURLToPath(new URL('../../support/processes/wrong-clock.mjs', import.meta.url));

/** An instance in its own process, behind a proxy whose connections can be cut. */
export class InstanceProcess implements Instance {
  isUp = false;
  readonly hasReplica: boolean;
  readonly #proxy = new TcpProxy();
  readonly #settings: Readonly<Record<string, string>>;
  #process!: ServerProcess;
  #starting: Promise<void> = Promise.resolve();
  #isEnding = false;
  /** The offsets of the clock, each with the times of `performance.now()` between which it may have been in effect. */
  #offsets: { readonly ms: number; readonly from: number; until: number }[] = [];

  private constructor(
    settings: Record<string, string>,
    /** Collects the errors of processes that have ended. */
    private readonly errors: string[],
  ) {
    this.#settings = settings;
    this.hasReplica = 'DATABASE_READ_URL' in settings;
  }

  static async start(settings: Record<string, string>, errors: string[]): Promise<InstanceProcess> {
    const port = await freePort();
    const instance = new InstanceProcess({ ...settings, PORT: String(port) }, errors);
    instance.#proxy.target = port;
    await instance.#proxy.open();
    await instance.#begin();
    return instance;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#proxy.port}`;
  }

  async #begin(): Promise<void> {
    this.#offsets = [{ ms: 0, from: -Infinity, until: Infinity }];
    for (;;) {
      this.#process = new ServerProcess(this.#settings, {
        hasIpc: true,
        hasProductionLimits: true,
        nodeArguments: ['--import', WRONG_CLOCK],
      });
      const isReady = await this.#process.ready().then(
        () => true,
        () => false,
      );
      // If a fault during the start ends the process, it is started again, as a supervisor would do.
      if (isReady) break;
      await this.#process.end('SIGKILL');
    }
    this.isUp = true;
    void this.#watch(this.#process);
  }

  /** Waits until a process ends, records its unexpected errors, and restarts it if it ended by itself. */
  async #watch(running: ServerProcess): Promise<void> {
    const { code, signal } = await running.exited;
    this.errors.push(...unexpectedErrorsOf(running));
    if (!this.isUp || this.#isEnding) return;
    this.errors.push(`An instance ended by itself (${code ?? signal}): ${running.stderr.slice(-2000)}`);
    this.isUp = false;
    this.#starting = this.#begin();
    this.#starting.catch(() => undefined);
  }

  readonly clockBetween = (from: number, to: number): readonly [number, number] => {
    const offsets = this.#offsets
      .filter((offset) => offset.from <= to && offset.until >= from)
      .map(({ ms }) => ms);
    // The wall clock has whole milliseconds, so the interval is a millisecond longer on both sides.
    const timeOrigin = Date.now() - performance.now();
    return [timeOrigin + from + Math.min(...offsets) - 1, timeOrigin + to + Math.max(...offsets) + 1];
  };

  /** Sets by how much the clock of the instance differs from the right time. */
  async setClockOffset(ms: number): Promise<void> {
    await this.waitUntilUp();
    const before = this.#offsets.at(-1)!;
    this.#offsets.push({ ms, from: performance.now(), until: Infinity });
    const { child, exited } = this.#process;
    const acknowledged = once(child, 'message');
    // If the process has ended meanwhile, it is started again with the right time.
    child.send(ms, () => undefined);
    await Promise.race([acknowledged, exited]);
    before.until = performance.now();
  }

  cutConnections(): void {
    this.#proxy.cut();
  }

  /** Kills the process, and starts it again in the background. */
  async kill(): Promise<void> {
    this.isUp = false;
    await this.#process.end('SIGKILL');
    this.#starting = this.#begin();
    this.#starting.catch(() => undefined);
  }

  waitUntilUp(): Promise<void> {
    return this.#starting;
  }

  /** Unexpected errors that the running process has logged. */
  get unexpectedErrors(): string[] {
    return unexpectedErrorsOf(this.#process);
  }

  async end(): Promise<void> {
    await this.#starting;
    this.#isEnding = true;
    await this.#process.end('SIGKILL');
    this.#proxy.close();
  }
}

const unexpectedErrorsOf = ({ stdout }: ServerProcess): string[] =>
  stdout.split('\n').filter((line) => /internal_error|uncaught/.test(line));
