import { readdir, readFile } from 'node:fs/promises';
import type { UpdateCheck } from '../../client/src/client.js';
import { DAY, HOUR, MINUTE } from './harness.js';
import { Crashes } from './year-crashes.js';
import { Random } from './random.js';
import { SocketComputer } from './socket-computer.js';
import { serveInvalidManifests, loseActivation, FAULT_ACTIONS, INVALID_REASONS } from './year-faults.js';
import { findViolations, type Run } from './year-guarantees.js';

/** Personal data in telemetry that a careless application passes; the client must not send it. */
export const HOSTNAME_CANARY = 'annas-macbook-pro';

/** A user, a computer and an application for a year, chosen by a seed. Each run is checked against the client's guarantees. */
export class Year {
  readonly violations: string[] = [];
  readonly checks: UpdateCheck[] = [];
  /** `lateStarts` counts the starts more than seven days after the last confirmation. */
  readonly counts = { runs: 0, faults: 0, lateStarts: 0 };
  readonly #random: Random;
  readonly #clientRandom: Random;
  readonly #serviceRandom: Random;
  readonly #faults = [...FAULT_ACTIONS];
  #run!: Run;
  /** The lengths of the lists of the computer at the start of the run. */
  #lengthsAtStart = { attempts: 0, states: 0, log: 0 };
  #version = 0;
  #isTelemetryOff = false;
  readonly #crashes = new Crashes();
  /**
   * The last confirmation: its true time, how far the user's clock (`skew`) and the service's clock (`clockErrorMs`) were ahead
   * of the true time, and whether the user has set the clock ahead since.
   */
  #confirmed = { at: Number.NaN, skew: 0, clockErrorMs: 0, wasSetAhead: false };

  private constructor(
    readonly computer: SocketComputer,
    seed: number,
  ) {
    this.#random = new Random(seed);
    // One generator each, so that a change of one part does not change the random choices of the others.
    this.#clientRandom = new Random(seed + 1);
    this.#serviceRandom = new Random(seed + 2);
  }

  static async begin(seed: number): Promise<Year> {
    const year = new Year(await SocketComputer.create(), seed);
    await year.start();
    await year.#perform(() => year.computer.activate());
    // The status before the activation, which is `not_activated`, is not checked.
    year.#lengthsAtStart.states = 1;
    return year;
  }

  /** Alternates quiet days and faults for this number of days. */
  async simulate(days: number): Promise<void> {
    const end = this.computer.trueTime + days * DAY;
    while (this.computer.trueTime < end) {
      await this.#spendTime(this.#random.span(2 * HOUR, 5 * DAY));
      await this.#causeFault();
      this.counts.faults += 1;
      // Each fault is followed by a new manifest, and every eighth one by a new version.
      this.computer.remote.publish({ version: `3.${1 + Math.floor(this.counts.faults / 8)}.0` });
    }
  }

  /** Causes one of the three faults that have not occurred for the longest time, so that each occurs within the year. */
  async #causeFault(): Promise<void> {
    const { remote } = this.computer;
    const fault = this.#faults.splice(this.#random.below(3), 1)[0]!;
    this.#faults.push(fault);
    // `loseActivation` needs a client that was just confirmed, and `serveInvalidManifests` one that has seen a valid manifest.
    if (fault === loseActivation || fault === serveInvalidManifests) {
      await this.#perform(() => this.computer.retry());
      await this.computer.checkForUpdate();
    }
    await fault(remote, this.#serviceRandom);
    if (fault === serveInvalidManifests) await this.#checkInvalidManifests();
    // While the activation is lost, only the old token keeps the application running. Therefore the service behaves again
    // (below) within six days, before that token expires.
    if (fault === loseActivation) await this.#spendTime(this.#random.span(HOUR, 6 * DAY), 'careful');
    // An application that runs without a restart continues after its token has ended.
    else if (this.computer.client.status.kind === 'running' && this.#random.chance(0.25))
      await this.#spendTime(this.#random.span(8 * DAY, 20 * DAY), 'absent');
    else await this.#spendTime(this.#random.span(5 * MINUTE, 14 * DAY));
    await remote.behave();
  }

  async #checkInvalidManifests(): Promise<void> {
    for (const reason of INVALID_REASONS) {
      const check = await this.computer.checkForUpdate();
      if (check.available || check.reason !== reason)
        this.violations.push(`an invalid manifest (${reason}) led to ${JSON.stringify(check)}`);
    }
  }

  /**
   * Performs random actions of a user for this duration. A careful user does not set the clock, and no action lasts longer
   * than the duration; an absent user only lets time pass.
   */
  async #spendTime(milliseconds: number, user?: 'careful' | 'absent'): Promise<void> {
    const end = this.computer.trueTime + milliseconds;
    for (let left = milliseconds; left > 0; left = end - this.computer.trueTime) {
      const longest = user ? left : Infinity;
      await this.#perform(() => this.#performRandomAction(longest, user));
    }
  }

  async #performRandomAction(longestAction: number, user?: 'careful' | 'absent'): Promise<unknown> {
    const { computer } = this;
    const random = this.#random;
    const span = (shortest: number, longest: number) =>
      Math.min(random.span(shortest, longest), longestAction);
    // While the application waits for the network, a pause lasts at most three hours, so that the user acts more often.
    const longestPause = computer.client.status.kind === 'needs_network' ? 3 * HOUR : 3 * DAY;
    // Below 0.62, the user only lets time pass.
    const draw = random.unit() * (user === 'absent' ? 0.62 : 1);
    if (draw < 0.5) return computer.advanceTime(span(10 * MINUTE, longestPause));
    if (draw < 0.62) return computer.sleep(span(MINUTE, 2 * DAY), random.chance(0.5));
    if (draw < 0.7) return this.restart(span(1, HOUR));
    if (draw < 0.78) return this.restart(span(HOUR, 12 * DAY));
    if (draw < 0.84) return this.restart(span(1, HOUR), { killed: true });
    if (draw < 0.9) return computer.retry();
    if (draw < 0.93) return computer.checkForUpdate();
    if (draw < 0.95) return computer.activate().catch(() => {});
    if (!user) this.#setClock(random.chance(0.4) ? 0 : random.between(-365, 365) * DAY);
    return computer.advanceTime(span(MINUTE, HOUR));
  }

  #setClock(skew: number): void {
    if (skew > this.computer.skew) this.#confirmed.wasSetAhead = true;
    this.computer.setClock(skew);
  }

  async #perform(work: () => Promise<unknown>): Promise<void> {
    await work();
    const { remote, skew } = this.computer;
    if (remote.confirmedAt !== this.#confirmed.at && !Number.isNaN(remote.confirmedAt))
      this.#confirmed = {
        at: remote.confirmedAt,
        skew,
        clockErrorMs: remote.clockErrorMs,
        wasSetAhead: false,
      };
  }

  /** Ends or kills the application and starts it again later, sometimes with another version or telemetry setting. */
  async restart(offMs: number, { killed = false } = {}): Promise<void> {
    await this.#end({ killed });
    this.computer.time.wall += offMs;
    if (this.#random.chance(0.2)) this.#isTelemetryOff = !this.#isTelemetryOff;
    if (this.#random.chance(0.2)) this.#version += 1;
    await this.start();
    if (killed || this.#random.chance(0.1)) await this.#reportCrash();
  }

  async start(): Promise<void> {
    const { computer } = this;
    const { at, skew, clockErrorMs, wasSetAhead } = this.#confirmed;
    const isLate = computer.trueTime - at > 7 * DAY;
    // The client knows how long ago the confirmation was if the service's clock was right, and if the user's clock was not
    // behind and was not set since.
    const isConfirmationAgeKnown = computer.skew === skew && skew >= 0 && clockErrorMs === 0 && !wasSetAhead;
    this.#lengthsAtStart = {
      attempts: computer.attempts.length,
      states: computer.states.length,
      log: computer.log.length,
    };
    this.#run = {
      start: computer.time.monotonic,
      startAwake: computer.time.monotonic - computer.slept,
      endAwake: 0,
      appVersion: `3.0.${this.#version}`,
      isTelemetryOff: this.#isTelemetryOff,
      mayNeedNetwork: isLate || wasSetAhead,
      mustCallService: isLate && isConfirmationAgeKnown,
      attempts: [],
      states: [],
      log: [],
    };
    this.counts.runs += 1;
    if (isLate) this.counts.lateStarts += 1;
    if (this.#isTelemetryOff) this.#crashes.recordOptOut();
    await this.#perform(() => computer.open(this.#options()));
  }

  /** Checks the run that ends against the guarantees of the client. */
  async #end({ killed }: { killed: boolean }): Promise<void> {
    const { computer } = this;
    await (killed ? computer.kill() : computer.client.close());
    const run = this.#run;
    run.endAwake = computer.time.monotonic - computer.slept;
    run.attempts = computer.attempts.slice(this.#lengthsAtStart.attempts);
    run.states = computer.states.slice(this.#lengthsAtStart.states);
    run.log = computer.log.slice(this.#lengthsAtStart.log);
    const found = [
      ...findViolations(run),
      ...this.#crashes.findWronglySent(run),
      ...(await this.#checkStateFile()),
    ];
    this.violations.push(...found.map((sentence) => `run ${this.counts.runs}: ${sentence}`));
  }

  /** Ends the last run, corrects the clock, and starts the application again. */
  async finish(): Promise<void> {
    await this.computer.retry();
    await this.#end({ killed: false });
    this.computer.setClock(0);
    await this.start();
  }

  #options() {
    const { appVersion, isTelemetryOff } = this.#run;
    const tooMuchTelemetry = {
      hostname: HOSTNAME_CANARY,
      camera_url: `rtsp://${HOSTNAME_CANARY}/`,
      arch: 'arm64',
      camera_count: 4,
    };
    return {
      appVersion,
      environment: { HOSTNAME: HOSTNAME_CANARY, ...(isTelemetryOff && { EXAMPLE_TELEMETRY_DISABLED: '1' }) },
      telemetry: () => tooMuchTelemetry,
      random: this.#clientRandom.unit,
      onUpdateCheck: (check: UpdateCheck) => this.checks.push(check),
    };
  }

  async #reportCrash(): Promise<void> {
    const crash_label = this.#crashes.add(this.#isTelemetryOff);
    const crash = { crash_kind: 'native' as const, crash_label, crash_log: HOSTNAME_CANARY };
    await this.computer.client.reportCrash(crash);
  }

  get crashesSent(): number {
    return this.#crashes.sent;
  }

  async #checkStateFile(): Promise<string[]> {
    const { folder, stateFile } = this.computer;
    const names = await readdir(folder);
    const state = JSON.parse(await readFile(stateFile, 'utf8')) as { version: number; license: object };
    const isComplete = state.version === 1 && 'token' in state.license;
    return names.length === 1 && isComplete
      ? []
      : [`an incomplete state file, or other files beside it: ${names.join()}`];
  }
}
