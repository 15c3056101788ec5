import { CallQueue } from './call-queue.js';
import { License } from './license.js';
import { trustedKey } from './manifest-signature.js';
import { NamedTimers } from './named-timers.js';
import { withDefaults, type ClientOptions } from './options.js';
import * as schedule from './schedule.js';
import { SeenTime } from './seen-time.js';
import type { Activation } from './state.js';
import type { CallEnd, Status } from './status.js';
import { Store } from './store.js';
import { pickCrash, telemetryBlock, isTelemetryDisabled, type CrashSignature } from './telemetry.js';
import { Transport } from './transport.js';
import { UpdateChecker } from './update-check.js';
import type { UpdateCheck } from './update.js';
import { WaitingActivation } from './waiting-activation.js';

export * from './public.js';

/** The client: connects its parts, sets the timers, and sends one license call at a time. */
export class MooringClient {
  readonly #options;
  readonly #store: Store;
  readonly #transport: Transport;
  readonly #updates: UpdateChecker;
  readonly #timers: NamedTimers<'start' | 'heartbeat' | 'manifest' | 'activation'>;
  readonly waitingActivation: WaitingActivation;
  readonly #closing = new AbortController();
  #time: SeenTime | undefined;
  #license: License | undefined;
  #starting: Promise<Status> | undefined;
  #currentHeartbeat: Promise<void> | undefined;
  readonly #queue = new CallQueue();
  #checking: Promise<UpdateCheck> | undefined;
  #failures = 0;
  readonly #isTelemetryOff: boolean;
  #reportedStatus: string | undefined;

  constructor(options: ClientOptions) {
    this.#options = withDefaults(options);
    const { appVersion, product, storage, baseUrl, trustedKeys, log, fetch, clock, timers } = this.#options;
    this.#isTelemetryOff = isTelemetryDisabled(this.#options.app, this.#options.environment);
    this.#timers = new NamedTimers(timers);
    this.waitingActivation = new WaitingActivation({ timers: this.#timers, clock, activate: this.#activate });
    this.#store = new Store(storage, log);
    this.#transport = new Transport(baseUrl, { fetch, clock, timers, signal: this.#closing.signal });
    this.#updates = new UpdateChecker({
      transport: this.#transport,
      store: this.#store,
      trusted: trustedKeys.map(trustedKey),
      product,
      app_version: appVersion,
      now: () => Math.max(clock.now(), this.#time!.now()),
      log,
    });
  }

  get status(): Status {
    return this.#license?.status ?? { kind: 'not_activated' };
  }

  /** Decides whether the application may run, and sets the timers. Calls after the state was read return the first result. */
  start(): Promise<Status> {
    return (this.#starting ??= this.#start());
  }

  /**
   * For the Activate button only. A refusal changes neither the status nor the stored license. After a refusal at the machine
   * limit the client repeats the activation for ten minutes (`waiting-activation.ts`).
   * @throws LicenseProblem (a refusal: show `detail`), ServiceUnreachable (no answer), or another Error (no machine id, or closed)
   */
  async activate(license_key: string, email: string, hostname_hint = ''): Promise<Status> {
    await this.start();
    if (this.#isClosed) throw new Error('the client is closed');
    return this.waitingActivation.start({ license_key, email, hostname_hint: hostname_hint.trim() || null });
  }

  /** For the Retry button: sends a heartbeat now, if there is a license. A confirmation ends `needs_network` or `stopped`. */
  async heartbeatNow(): Promise<Status> {
    await this.start();
    await this.#sendHeartbeat();
    return this.status;
  }

  /** Checks for an update now. Never throws: any failure is "no update available", with a reason. */
  async checkForUpdate(): Promise<UpdateCheck> {
    await this.start();
    if (this.#isClosed) return { available: false, reason: 'unreachable' };
    const check = await (this.#checking = this.#updates.check());
    this.#options.onUpdateCheck(check);
    return check;
  }

  /** Stores the signature of an earlier crash for one heartbeat, unless the user opted out of telemetry. */
  async reportCrash(crash: CrashSignature): Promise<void> {
    await this.start();
    if (!this.#isTelemetryOff && !this.#isClosed) await this.#store.save({ crash: pickCrash(crash) });
  }

  /** Resolves when no call and no write to the state file is running. */
  async idle(): Promise<void> {
    await Promise.allSettled([this.#starting, this.#queue.idle(), this.#checking]);
    await this.#store.idle();
  }

  /** Ends the timers and the running calls, and stores the highest time seen if a license is stored. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#timers.end();
    await this.idle();
    await this.#license?.rememberTime();
  }

  readonly #activate = async (activation: Activation, isWanted: () => boolean): Promise<Status> => {
    await this.#queue.run(async () => {
      if (isWanted()) this.#scheduleHeartbeat(await this.#license!.activate(activation));
    });
    return this.#reportStatus();
  };

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  async #start(): Promise<Status> {
    // The read is queued like a call, so that it never overwrites the result of an activation.
    await this.#queue.run(() => this.#open());
    return this.#reportStatus();
  }

  /** Reads the state and starts the license. A state that cannot be read is read again later, unless an activation replaces it. */
  async #open(): Promise<void> {
    if (this.#isClosed || (this.#license && !this.#store.isUnread)) return;
    await this.#store.load();
    // An opt-out deletes the crash signature that was stored for the next heartbeat.
    if (this.#isTelemetryOff && this.#store.state.crash) await this.#store.save({ crash: null });
    // Only the first attempt to open sets this timer. If each attempt set it again, the manifest might never be read.
    if (!this.#license) this.#scheduleManifest(schedule.firstManifestMs(this.#options.random()));
    this.#license = this.#openLicense();
    if (this.#store.isUnread) {
      this.#starting = undefined;
      this.#timers.set('start', () => this.start(), schedule.START_AGAIN_MS);
    }
    this.#scheduleHeartbeat(await this.#license.start());
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
        this.#isTelemetryOff
          ? undefined
          : telemetryBlock(appVersion, telemetry, this.#store.state.crash, log),
      log,
    });
  }

  /** Sends one heartbeat at a time: calls during a heartbeat get its result. */
  #sendHeartbeat(): Promise<void> {
    return (this.#currentHeartbeat ??= this.#queue
      .run(async () => {
        if (!this.#isClosed) this.#scheduleHeartbeat(await this.#license!.heartbeat());
        this.#reportStatus();
      })
      .finally(() => (this.#currentHeartbeat = undefined)));
  }

  /** Sets the timer of the next heartbeat. Without a license, and after a `stop` until a confirmation, there is none. */
  #scheduleHeartbeat(end: CallEnd): void {
    this.#timers.clear('heartbeat');
    if (this.#isClosed || ['not_activated', 'stopped'].includes(this.status.kind)) return;
    this.#failures = end.kind === 'unconfirmed' ? this.#failures + 1 : 0;
    const progress = { isWaitingForNetwork: this.status.kind === 'needs_network', failures: this.#failures };
    const delay = schedule.afterCallMs(end, progress, this.#options.random());
    this.#timers.set('heartbeat', () => this.#sendHeartbeat(), delay);
  }

  /** The manifest is read daily in every status; no setting disables this (docs/clients.md#the-states). */
  #scheduleManifest(milliseconds: number): void {
    const read = () => {
      this.#scheduleManifest(schedule.nextManifestMs(this.#options.random()));
      return this.checkForUpdate();
    };
    this.#timers.set('manifest', read, milliseconds);
  }

  #reportStatus(): Status {
    const { status } = this;
    const text = JSON.stringify(status);
    if (text !== this.#reportedStatus) this.#options.onStateChange(status);
    this.#reportedStatus = text;
    return status;
  }
}
