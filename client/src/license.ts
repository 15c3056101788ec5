import { actionOf, errorOf, logText, readLicenseAnswer, type Confirmation, type Outcome } from './answers.js';
import type { TokenReader } from './license-token.js';
import type { LicenseProblem } from './problem.js';
import type { SeenTime } from './seen-time.js';
import type { Activation, Refused, StoredLicense } from './state.js';
import {
  hasTelemetry,
  isStoppedBy,
  mayReactivate,
  NOT_CALLED,
  REFUSALS_OF_ACTIVATIONS,
  stoppedBy,
} from './status.js';
import type { CallEnd, Status } from './status.js';
import type { Store } from './store.js';
import { appliesTo, storedStop } from './stored-stop.js';
import type { CrashSignature, Telemetry } from './telemetry.js';
import { noAnswer, type Transport } from './transport.js';

export interface LicenseDependencies {
  transport: Transport;
  store: Store;
  time: SeenTime;
  app_version: string;
  machineId(): Promise<string>;
  tokens: TokenReader;
  /** The telemetry of the next heartbeat, or undefined if the user opted out. */
  telemetry(): (Telemetry & CrashSignature) | undefined;
  log(message: string): void;
}

type CallName = 'heartbeat' | 'activation';

/** The state machine of one license. Its calls must not overlap: the client queues them. */
export class License {
  #status: Status = { kind: 'not_activated' };
  readonly #dependencies: LicenseDependencies;

  constructor(dependencies: LicenseDependencies) {
    this.#dependencies = dependencies;
  }

  get status(): Status {
    return this.#status;
  }

  /**
   * Decides whether the application may run. Before the end of a believable token, it runs at once. Otherwise, and after a stop,
   * the client first sends a heartbeat, not an activation, so that a released machine is not activated again. A token of another
   * machine is never sent: `heartbeat` then activates this machine instead, and after a stop nothing is sent.
   */
  async start(): Promise<CallEnd> {
    const { license, stopped: stored } = this.#dependencies.store.state;
    if (!license) return NOT_CALLED;
    const stopped = stored && appliesTo(stored, await this.#refused(license)) ? stored : null;
    // `isBelievable` is false if the application ships token keys and the token fails the checks with them.
    const { claims, isBelievable, offline_until } = this.#dependencies.tokens.read(license);
    if (claims) this.#dependencies.time.atLeast(claims.iat * 1000);
    if (stopped) this.#status = stoppedBy(stopped);
    else if (isBelievable && this.#isTokenValid(license)) this.#status = this.#runningStatus(license);
    else this.#status = { kind: 'needs_network', offline_until, reason: 'not_asked_yet' };
    // After a stop, a machine that has a token of another machine is activated only when the user asks for it.
    if (stopped && (await this.#dependencies.tokens.isOfAnotherMachine(license))) return NOT_CALLED;
    if (this.#status.kind !== 'running') return this.heartbeat();
    await this.rememberTime();
    return NOT_CALLED;
  }

  /** Activates, for the Activate button. @throws the error of `errorOf` or `machineId`, which leaves the license unchanged */
  async activate(activation: Activation): Promise<CallEnd> {
    const outcome = await this.#callActivate(activation);
    if (outcome.kind !== 'confirmed') throw errorOf(outcome);
    return this.#confirm(activation, outcome.confirmation);
  }

  /** Sends a heartbeat, or the activation that replaces it, and does what the response asks for. Never throws. */
  async heartbeat(): Promise<CallEnd> {
    const { license } = this.#dependencies.store.state;
    if (!license) return NOT_CALLED;
    if (await this.#dependencies.tokens.isOfAnotherMachine(license)) return this.#activateHere(license);
    const telemetry = hasTelemetry(this.#status) ? this.#dependencies.telemetry() : undefined;
    let outcome = await this.#callHeartbeat(license, telemetry);
    if (telemetry && actionOf(outcome) === 'fix') outcome = await this.#callHeartbeat(license, undefined);
    if (actionOf(outcome) !== 'reactivate' || !mayReactivate(this.#status))
      return this.#handle(outcome, license, 'heartbeat');
    this.#dependencies.log('the service asked for a new activation');
    return this.#handle(await this.#reactivate(license), license, 'activation');
  }

  /** Stores the values of `SeenTime`, if a license is stored. */
  async rememberTime(): Promise<void> {
    const { store, time } = this.#dependencies;
    if (store.state.license) await store.save({ time: time.toStored() });
  }

  async #callHeartbeat(license: StoredLicense, telemetry: object | undefined): Promise<Outcome> {
    const { transport, log, app_version, store } = this.#dependencies;
    const { crash } = store.state;
    const body = { token: license.token, app_version, ...(telemetry && { telemetry }) };
    const outcome = readLicenseAnswer(await transport.call({ method: 'POST', path: '/v1/heartbeat', body }));
    const hasResponse = outcome.kind !== 'no_answer' || outcome.hasResponse;
    if (hasResponse) log(`heartbeat sent (telemetry: ${telemetry ? 'on' : 'off'})`);
    if (outcome.kind === 'no_answer') log(`heartbeat not confirmed: ${outcome.reason}`);
    if (outcome.kind === 'problem') log(`heartbeat answered with ${logText(outcome.problem)}`);
    // A crash signature is sent with one heartbeat. After `fix` it is deleted too, because it would be refused again. The write is
    // not awaited: `SeenTime.confirm` compares the clocks, and a computer that sleeps before that would make the difference wrong.
    const isDelivered = outcome.kind === 'confirmed' || actionOf(outcome) === 'fix';
    if (telemetry && isDelivered && crash && crash === store.state.crash) void store.save({ crash: null });
    return outcome;
  }

  async #callActivate({ license_key, email, hostname_hint }: Activation): Promise<Outcome> {
    const { transport, app_version, machineId } = this.#dependencies;
    const machine_id = await machineId();
    const body = { license_key, email, machine_id, ...(hostname_hint && { hostname_hint }), app_version };
    return readLicenseAnswer(await transport.call({ method: 'POST', path: '/v1/activate', body }));
  }

  /**
   * Activates this machine if the file has the token of another machine: the file was copied, or the disk or the logic board
   * was replaced. The token of the other machine is never sent.
   */
  async #activateHere(license: StoredLicense): Promise<CallEnd> {
    // Only the Activate button activates a released machine again.
    if (isStoppedBy(this.#status, 'binding_released')) return NOT_CALLED;
    this.#dependencies.log('the license was activated on another machine: activating on this one');
    // The label was typed for the other machine.
    const here = { ...license, hostname_hint: null };
    return this.#handle(await this.#reactivate(here), here, 'activation');
  }

  async #handle(outcome: Outcome, license: StoredLicense, call: CallName): Promise<CallEnd> {
    if (outcome.kind === 'confirmed') return this.#confirm(license, outcome.confirmation);
    if (outcome.kind === 'problem' && this.#mayStop(outcome.problem, license, call))
      await this.#stop(outcome.problem, license);
    else await this.#continueAfter(outcome);
    return { kind: 'unconfirmed', retry_after_seconds: errorOf(outcome).retry_after_seconds };
  }

  async #reactivate(license: StoredLicense): Promise<Outcome> {
    try {
      return await this.#callActivate(license);
    } catch {
      // A machine id that cannot be read at the moment does not stop the application.
      return noAnswer('no machine id');
    }
  }

  async #confirm(activation: Activation, confirmation: Confirmation): Promise<CallEnd> {
    const { token, offline_until, license_expires_at: expires_at, heartbeat_after_seconds } = confirmation;
    const { license_key, email, hostname_hint } = activation;
    const license = { license_key, email, hostname_hint, token, offline_until, expires_at };
    this.#dependencies.time.confirm(Date.parse(confirmation.server_time));
    await this.#dependencies.store.save({ license, stopped: null, time: this.#dependencies.time.toStored() });
    this.#status = this.#runningStatus(license);
    return { kind: 'confirmed', heartbeat_after_seconds };
  }

  /** Only `stop` can stop a running application (docs/contract.md#errors). */
  #mayStop(problem: LicenseProblem, license: StoredLicense, call: CallName): boolean {
    if (problem.client_action !== 'stop') return false;
    // These codes stop it only after the token's end, any other `stop` at once (docs/clients.md#what-to-do-on-each-client_action).
    const isIgnoredForNow = call === 'activation' && REFUSALS_OF_ACTIVATIONS.includes(problem.code);
    return !(isIgnoredForNow && this.#status.kind === 'running' && this.#isTokenValid(license));
  }

  async #stop(problem: LicenseProblem, license: StoredLicense): Promise<void> {
    const { store, time } = this.#dependencies;
    const stopped = storedStop(problem, await this.#refused(license));
    await store.save({ stopped, time: time.toStored() });
    this.#status = stoppedBy(problem);
  }

  /** The license, and this machine and version: stored with a new stop, and compared with those of a stored stop. */
  async #refused({ license_key }: StoredLicense): Promise<Refused> {
    const { tokens, app_version } = this.#dependencies;
    return { license_key, mch: await tokens.thisMachine(), app_version };
  }

  async #continueAfter(outcome: Exclude<Outcome, { kind: 'confirmed' }>): Promise<void> {
    await this.rememberTime();
    const reason = outcome.kind === 'problem' ? outcome.problem.code : outcome.reason;
    if (this.#status.kind === 'needs_network') this.#status = { ...this.#status, reason };
    if (this.#status.kind !== 'running' || outcome.kind !== 'problem') return;
    const { problem } = outcome;
    // The user has until the token's end to release another machine.
    if (problem.client_action === 'stop' && problem.is('machine_limit_reached'))
      this.#status = { ...this.#status, machine_limit_reached: problem.extras };
  }

  /** The 7-day rule: whether the application may be restarted without the network. */
  #isTokenValid(license: StoredLicense): boolean {
    return this.#dependencies.time.now() <= Date.parse(this.#dependencies.tokens.read(license).offline_until);
  }

  #runningStatus(license: StoredLicense): Status {
    const { offline_until } = this.#dependencies.tokens.read(license);
    return { kind: 'running', offline_until, license_expires_at: license.expires_at };
  }
}
