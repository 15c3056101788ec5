import { CallQueue } from './call-queue.js';
import { License } from './license.js';
import { trustedKey } from './manifest-signature.js';
import { NamedTimers } from './named-timers.js';
import { completed, type ClientOptions } from './options.js';
import * as schedule from './schedule.js';
import { SeenTime } from './seen-time.js';
import type { CallEnd, Status } from './status.js';
import { Store } from './store.js';
import { pickCrash, telemetryBlock, telemetryDisabled, type CrashSignature } from './telemetry.js';
import { Transport } from './transport.js';
import { UpdateChecker } from './update-check.js';
import type { UpdateCheck } from './update.js';

export * from './problem.js';
export type { ClientOptions } from './options.js';
export { isStoppedBy, type Status } from './status.js';
export type { CrashSignature, Telemetry } from './telemetry.js';
export type { Clock, Timers } from './time.js';
export type { Offer } from './signed-manifest.js';
export type { NoUpdateReason, UpdateCheck } from './update.js';

/** The whole client: wires the parts, owns the timers, and lets one license call happen at a time. */
export class MooringClient {
  readonly #options;
  readonly #store: Store;
  readonly #transport: Transport;
  readonly #updates: UpdateChecker;
  readonly #timers: NamedTimers<'start' | 'heartbeat' | 'manifest'>;
  readonly #closing = new AbortController();
  #time: SeenTime | undefined;
  #license: License | undefined;
  #starting: Promise<Status> | undefined;
  #beating: Promise<void> | undefined;
  readonly #queue = new CallQueue();
  #checking: Promise<UpdateCheck> | undefined;
  #failures = 0;
  readonly #telemetryOff: boolean;
  #announced: string | undefined;

  constructor(options: ClientOptions) {
    this.#options = completed(options);
    const { appVersion, product, storage, baseUrl, trustedKeys, log, fetch, clock, timers } = this.#options;
    this.#telemetryOff = telemetryDisabled(this.#options.app, this.#options.environment);
    this.#timers = new NamedTimers(timers);
    this.#store = new Store(storage, log);
    this.#transport = new Transport(baseUrl, { fetch, clock, timers, signal: this.#closing.signal });
    this.#updates = new UpdateChecker({
      transport: this.#transport,
      store: this.#store,
      trusted: trustedKeys.map(trustedKey),
      product,
      app_version: appVersion,
      now: () => this.#time?.now() ?? clock.now(),
      log,
    });
  }

  get status(): Status {
    return this.#license?.status ?? { kind: 'not_activated' };
  }

  /** Decides whether the application may run, and begins the background calls. Once, if the state can be read. */
  start(): Promise<Status> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  /**
   * For the Activate button alone. Throws `LicenseProblem` where the service refused (show `detail`), or
   * `ServiceUnreachable`; a refusal changes nothing of what ran before.
   */
  async activate(license_key: string, email: string, hostname_hint = ''): Promise<Status> {
    await this.start();
    if (this.#closed) throw new Error('the client is closed');
    const activation = { license_key, email, hostname_hint: hostname_hint.trim() || null };
    await this.#queue.run(async () => this.#plan(await this.#license!.activate(activation)));
    return this.#announce();
  }

  /** For the Retry button: asks the service now, and lifts `needs_network` or `stopped` where it confirms. */
  async heartbeatNow(): Promise<Status> {
    await this.start();
    await this.#beat();
    return this.status;
  }

  /** Never throws: any failure is "no update available", with a reason. */
  async checkForUpdate(): Promise<UpdateCheck> {
    await this.start();
    if (this.#closed) return { available: false, reason: 'unreachable' };
    const check = await (this.#checking = this.#updates.check());
    this.#options.onUpdateCheck(check);
    return check;
  }

  /** Hands over the signature of a crash that the start found: kept for one heartbeat, or dropped under the opt-out. */
  async reportCrash(crash: CrashSignature): Promise<void> {
    await this.start();
    if (!this.#telemetryOff && !this.#closed) await this.#store.save({ crash: pickCrash(crash) });
  }

  /** Resolves when no call and no write is under way. */
  async idle(): Promise<void> {
    await Promise.allSettled([this.#starting, this.#queue.idle(), this.#checking]);
    await this.#store.idle();
  }

  /** Ends the timers and the calls under way, and leaves the state whole on disk. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#timers.end();
    await this.idle();
    await this.#license?.rememberTime();
  }

  get #closed(): boolean {
    return this.#closing.signal.aborted;
  }

  async #start(): Promise<Status> {
    // The read is queued like a call, so that it never replaces what an activation has just received.
    await this.#queue.run(() => this.#open());
    return this.#announce();
  }

  /** Reads the state and begins with it. A state that cannot be read is opened again later, unless an activation replaces it. */
  async #open(): Promise<void> {
    if (this.#closed || (this.#license && !this.#store.unread)) return;
    await this.#store.load();
    // What was kept for the next heartbeat must not outlive the opt-out.
    if (this.#telemetryOff && this.#store.state.crash) await this.#store.save({ crash: null });
    // A later attempt keeps the timer; else the read of the manifest would never be due.
    if (!this.#license) this.#planManifest(schedule.firstManifestMs(this.#options.random()));
    this.#license = this.#openLicense();
    if (this.#store.unread) {
      this.#starting = undefined;
      this.#timers.set('start', () => this.start(), schedule.START_AGAIN_MS);
    }
    this.#plan(await this.#license.start());
  }

  #openLicense(): License {
    const { appVersion, telemetry, machineId, tokens, clock, log } = this.#options;
    this.#time = new SeenTime(clock, this.#store.state.time);
    return new License({
      transport: this.#transport,
      store: this.#store,
      time: this.#time,
      app_version: appVersion,
      machineId,
      tokens,
      telemetry: () =>
        this.#telemetryOff ? undefined : telemetryBlock(appVersion, telemetry, this.#store.state.crash, log),
      log,
    });
  }

  /** One heartbeat at a time: callers that ask while one is under way get its result. */
  #beat(): Promise<void> {
    this.#beating ??= this.#queue
      .run(async () => {
        if (!this.#closed) this.#plan(await this.#license!.heartbeat());
        this.#announce();
      })
      .finally(() => (this.#beating = undefined));
    return this.#beating;
  }

  /** Sets the one timer of the next heartbeat. After a `stop` there is none: a restart or the user asks again. */
  #plan(end: CallEnd): void {
    this.#timers.clear('heartbeat');
    if (this.#closed || ['not_activated', 'stopped'].includes(this.status.kind)) return;
    this.#failures = end.kind === 'unconfirmed' ? this.#failures + 1 : 0;
    const isLateRestart = this.status.kind === 'needs_network';
    const delay = schedule.afterCallMs(
      end,
      { isLateRestart, failures: this.#failures },
      this.#options.random(),
    );
    this.#timers.set('heartbeat', () => this.#beat(), delay);
  }

  /** The daily read goes on whatever the license is; nothing switches it off (docs/keys.md#manifests). */
  #planManifest(milliseconds: number): void {
    const read = () => {
      this.#planManifest(schedule.nextManifestMs(this.#options.random()));
      return this.checkForUpdate();
    };
    this.#timers.set('manifest', read, milliseconds);
  }

  #announce(): Status {
    const { status } = this;
    const text = JSON.stringify(status);
    if (text !== this.#announced) this.#options.onStateChange(status);
    this.#announced = text;
    return status;
  }
}
