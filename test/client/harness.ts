import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { MooringClient, type ClientOptions, type Status } from '../../client/src/client.js';
import { temporaryFolder } from '../support/folders.js';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const START = Date.parse('2026-11-20T13:00:00Z');
export const MACHINE_ID = 'ab'.repeat(32);
export const KEY = 'MOOR_E6S7-Z8KJ-TB3R-QKX6';
export const EMAIL = 'buyer@example.com';
export const at = (milliseconds: number) => new Date(milliseconds).toISOString();

interface Timer {
  work: () => unknown;
  due: number;
}

/** A wall clock, a monotonic clock and timers that a test advances. A test can also set the wall clock, as a user can. */
export class FakeTime {
  wall: number;
  monotonic = 0;
  readonly pending = new Set<Timer>();
  readonly clock = { now: () => this.wall, monotonic: () => this.monotonic };
  readonly timers = {
    set: (work: () => unknown, milliseconds: number) => {
      // Node's timers treat a delay of 0 or NaN as one millisecond.
      const timer = { work, due: this.monotonic + (milliseconds || 1) };
      this.pending.add(timer);
      return timer;
    },
    clear: (timer: unknown) => void this.pending.delete(timer as Timer),
  };

  constructor(wall = START) {
    this.wall = wall;
  }

  /** Advances both clocks. After each timer that becomes due, it waits for `settle`. */
  async advance(milliseconds: number, settle: () => Promise<unknown>): Promise<void> {
    const end = this.monotonic + milliseconds;
    for (;;) {
      const next = [...this.pending].filter(({ due }) => due <= end).toSorted((a, b) => a.due - b.due)[0];
      this.#move((next?.due ?? end) - this.monotonic);
      if (!next) return;
      this.pending.delete(next);
      next.work();
      await settle();
    }
  }

  #move(milliseconds: number): void {
    // `SocketComputer.sleep` advances the clocks before it runs timers, so a timer may be overdue. It runs without a further delay.
    if (milliseconds <= 0) return;
    this.wall += milliseconds;
    this.monotonic += milliseconds;
  }
}

export interface RecordedCall {
  path: string;
  method: string;
  body: Record<string, unknown> | undefined;
  headers: Record<string, string>;
  /** The time of the monotonic clock. */
  when: number;
}

type Reply = Response | (() => Response | Promise<Response>);

/** A simulated service without sockets. */
class FakeService {
  calls: RecordedCall[] = [];
  /** The handler of each path. It returns the response, or a function that makes the response or fails. */
  answer: Record<string, (call: RecordedCall) => Reply>;
  /** Milliseconds by which the service's clock is ahead of the fake wall clock. */
  offset = 0;
  /** The number of tokens issued: the first one is `token-1`. */
  tokens = 0;

  constructor(readonly time: FakeTime) {
    this.answer = {
      '/v1/activate': () => this.confirm(201),
      '/v1/heartbeat': () => this.confirm(200),
      '/v1/manifest': () => problem(404, 'no_version_published', 'retry'),
    };
  }

  fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const path = new URL(url).pathname;
    const body = typeof init.body === 'string' ? (JSON.parse(init.body) as RecordedCall['body']) : undefined;
    const headers = init.headers as Record<string, string>;
    const call = { path, method: init.method ?? 'GET', body, headers, when: this.time.monotonic };
    this.calls.push(call);
    const reply = this.answer[path]!(call);
    return typeof reply === 'function' ? reply() : reply;
  };

  now(): number {
    return this.time.wall + this.offset;
  }

  /** Makes a confirmation with a new token, with these members changed. */
  confirm(status = 200, changes: Record<string, unknown> = {}): Response {
    return json(status, {
      token: `token-${++this.tokens}`,
      offline_until: at(this.now() + 7 * DAY),
      heartbeat_after_seconds: 21600,
      server_time: at(this.now()),
      license: { status: 'active', expires_at: null },
      ...changes,
    });
  }

  callsTo(path: string): RecordedCall[] {
    return this.calls.filter((call) => call.path === path);
  }

  get heartbeats(): RecordedCall[] {
    return this.callsTo('/v1/heartbeat');
  }

  /** Disconnects the network: each call fails. */
  disconnect(): void {
    this.answer = { '/v1/activate': noNetwork, '/v1/heartbeat': noNetwork, '/v1/manifest': noNetwork };
  }
}

const noNetwork = () => () => Promise.reject(new TypeError('fetch failed'));

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', ...headers },
  });
}

/** Makes a problem document with these additional members. */
export function problem(
  status: number,
  code: string,
  client_action: string,
  extras: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Response {
  const body = {
    type: `https://x/#${code}`,
    title: code,
    status,
    code,
    detail: `detail of ${code}`,
    client_action,
  };
  return json(status, { ...body, ...extras }, { 'content-type': 'application/problem+json', ...headers });
}

/** A computer with one state file and one clock, on which a test starts and quits the application. */
export class Computer {
  readonly time = new FakeTime();
  readonly service = new FakeService(this.time);
  readonly log: string[] = [];
  readonly states: Status[] = [];
  /** Milliseconds by which the user's clock is ahead of the true time. */
  skew = 0;
  client!: MooringClient;

  protected constructor(readonly folder: string) {}

  static async make(): Promise<Computer> {
    return new Computer(temporaryFolder());
  }

  /** Makes a computer on which the application is started. */
  static async opened(options: Partial<ClientOptions> = {}): Promise<Computer> {
    const computer = await Computer.make();
    await computer.open(options);
    return computer;
  }

  /** Makes a computer whose application is activated and runs. */
  static async activated(options: Partial<ClientOptions> = {}): Promise<Computer> {
    const computer = await Computer.opened(options);
    await computer.client.activate(KEY, EMAIL, 'Studio Mac');
    return computer;
  }

  get stateFile(): string {
    return join(this.folder, 'license.json');
  }

  /**
   * The user sets the clock to this many milliseconds ahead of the true time. The clock of `FakeService` moves too; a subclass with
   * another service subtracts `skew`.
   */
  setClock(skew: number): void {
    this.time.wall += skew - this.skew;
    this.skew = skew;
  }

  async open(options: Partial<ClientOptions> = {}): Promise<Status> {
    this.client = new MooringClient({
      baseUrl: 'https://license.example',
      app: 'EXAMPLE',
      product: 'com.example.app',
      appVersion: '3.1.0',
      trustedKeys: [],
      stateFile: this.stateFile,
      environment: {},
      clock: this.time.clock,
      timers: this.time.timers,
      fetch: this.service.fetch,
      random: () => 0.5,
      machineId: async () => MACHINE_ID,
      log: (line) => this.log.push(line),
      onStateChange: (status) => this.states.push(status),
      ...options,
    });
    return this.client.start();
  }

  async restart(options: Partial<ClientOptions> = {}): Promise<Status> {
    await this.client.close();
    return this.open(options);
  }

  /** Quits the application, lets time pass on the wall clock, and starts it again. */
  async restartAfter(milliseconds: number, options: Partial<ClientOptions> = {}): Promise<Status> {
    await this.client.close();
    this.time.wall += milliseconds;
    return this.open(options);
  }

  /** Advances both clocks, and runs the timers that become due. */
  advanceTime(milliseconds: number): Promise<void> {
    return this.time.advance(milliseconds, async () => {
      // The work of the first turn can start more work.
      for (let turn = 0; turn < 2; turn++) {
        await nextTurn();
        await this.settle();
      }
    });
  }

  /** Resolves when nothing more happens until time advances. */
  protected settle(): Promise<void> {
    return this.client.idle();
  }
}
