import { EventEmitter } from 'node:events';
import type { ClientOptions, Status, UpdateCheck } from '../../client/src/client.js';
import { separateFetch } from '../../client/src/separate-fetch.js';
import { CALL_TIMEOUT_MS, type Fetch } from '../../client/src/transport.js';
import { temporaryFolder } from '../support/folders.js';
import { Computer, EMAIL, KEY } from './harness.js';
import { MisbehavingService, type Path, type Received } from './misbehaving-service.js';

/** A call of the client, also one that did not reach the service. */
export interface Attempt {
  path: Path;
  /** The time of the monotonic clock. */
  when: number;
  /** `when` without the time asleep. It measures pauses between calls, because a timer that is due in sleep fires afterwards. */
  awake: number;
  /** The status of the application at that time. */
  status: Status['kind'];
  /** Whether the client made it while it handled a click of the user. */
  isUserInitiated: boolean;
  /** Whether the service never completes its answer to this call. */
  isStalled: boolean;
  received?: Received;
}

/** A computer whose application talks to the misbehaving service through real sockets. Its clock may be wrong. */
export class SocketComputer extends Computer {
  readonly attempts: Attempt[] = [];
  /** Milliseconds of the monotonic time during which the computer slept. */
  slept = 0;
  remote!: MisbehavingService;
  readonly #inFlight = new Map<string, Attempt>();
  readonly #events = new EventEmitter<{ change: [] }>();
  #isUserInitiated = false;

  /** Makes a computer and starts its service; `close` ends both. */
  static async create(): Promise<SocketComputer> {
    const computer = new SocketComputer(temporaryFolder());
    computer.remote = await MisbehavingService.start(() => computer.trueTime);
    computer.remote.events.on('received', (received) => {
      const attempt = computer.#inFlight.get(received.path);
      if (attempt) attempt.received = received;
    });
    computer.remote.events.on('stalled', (path) => {
      const attempt = computer.#inFlight.get(path);
      if (attempt) attempt.isStalled = true;
      computer.#events.emit('change');
    });
    return computer;
  }

  /** The true time, which the service uses unless its clock is wrong. */
  get trueTime(): number {
    return this.time.wall - this.skew;
  }

  /** Lets the computer sleep. On some systems the monotonic clock stops then, on others it continues. */
  async sleep(milliseconds: number, isClockRunning: boolean): Promise<void> {
    this.time.wall += milliseconds;
    if (!isClockRunning) return;
    this.time.monotonic += milliseconds;
    this.slept += milliseconds;
    await this.advanceTime(0);
  }

  /** Kills the application between two calls. */
  async kill(): Promise<void> {
    await this.finish(this.client.idle());
    this.time.pending.clear();
  }

  override open(options: Partial<ClientOptions> = {}): Promise<Status> {
    const { url, key, tokenKey } = this.remote;
    const keys = { trustedKeys: [key.x], tokenKeys: [tokenKey.x] };
    const connected = { baseUrl: url, ...keys, fetch: this.#fetch, ...options };
    return this.finish(super.open(connected));
  }

  activate(key = KEY, email = EMAIL): Promise<Status> {
    return this.#click(() => this.client.activate(key, email, 'Studio Mac'));
  }

  retry(): Promise<Status> {
    return this.#click(() => this.client.heartbeatNow());
  }

  checkForUpdate(): Promise<UpdateCheck> {
    return this.#click(() => this.client.checkForUpdate());
  }

  async close(): Promise<void> {
    await this.client.close();
    await this.remote.refuse();
  }

  /** Waits for the result of the work. While the service answers none of the calls, time advances to their timeout. */
  async finish<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    const ended = work.then(
      () => (isDone = true),
      () => (isDone = true),
    );
    for (;;) {
      await this.#untilDoneOrStalled(ended);
      if (isDone) return work;
      await this.advanceTime(CALL_TIMEOUT_MS);
    }
  }

  protected override settle(): Promise<void> {
    return this.#untilDoneOrStalled(this.client.idle());
  }

  async #click<T>(work: () => Promise<T>): Promise<T> {
    this.#isUserInitiated = true;
    try {
      return await this.finish(work());
    } finally {
      this.#isUserInitiated = false;
    }
  }

  /** Resolves when the work is done, or when the client only waits for calls that the service will never answer. */
  #untilDoneOrStalled(work: Promise<unknown>): Promise<void> {
    return new Promise((resolve) => {
      const finish = () => {
        this.#events.off('change', check);
        resolve();
      };
      const check = () => {
        const calls = [...this.#inFlight.values()];
        if (calls.length > 0 && calls.every(({ isStalled }) => isStalled)) finish();
      };
      this.#events.on('change', check);
      work.then(finish, finish);
      check();
    });
  }

  /**
   * Records a call, and sends it with the default `fetch` of the client. The client aborts the signal at the end of each call, also
   * after it has read the response.
   */
  #fetch: Fetch = (url, init) => {
    const { pathname } = new URL(url);
    const { kind } = this.client.status;
    const attempt: Attempt = {
      path: pathname as Path,
      when: this.time.monotonic,
      awake: this.time.monotonic - this.slept,
      status: kind,
      isUserInitiated: this.#isUserInitiated,
      isStalled: false,
    };
    this.attempts.push(attempt);
    this.#inFlight.set(pathname, attempt);
    init.signal!.addEventListener('abort', () => {
      this.#inFlight.delete(pathname);
      this.#events.emit('change');
    });
    return separateFetch(url, init);
  };
}
