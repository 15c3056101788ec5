import { errorOf, readLicenseAnswer, type Confirmation, type Outcome } from './believe.js';
import type { TokenReader } from './license-token.js';
import type { LicenseProblem } from './problem.js';
import type { SeenTime } from './seen-time.js';
import type { StoredLicense } from './state-file.js';
import { isStoppedBy, NOT_CALLED, stoppedBy, type CallEnd, type Status } from './status.js';
import type { Store } from './store.js';
import type { CrashSignature, Telemetry } from './telemetry.js';
import { unreachable, type Transport } from './transport.js';

export interface LicensePorts {
  transport: Transport;
  store: Store;
  time: SeenTime;
  app_version: string;
  machineId(): Promise<string>;
  tokens: TokenReader;
  /** The block of the next heartbeat, or undefined where the user opted out. */
  telemetry(): (Telemetry & CrashSignature) | undefined;
  log(message: string): void;
}

export interface Activation {
  license_key: string;
  email: string;
  hostname_hint: string | null;
}

/** In a background activation these two may only mean that a seat or a row is gone (docs/contract.md#errors). */
const LENIENT_WHILE_TOKEN_LIVES: readonly string[] = ['license_not_found', 'machine_limit_reached'];

/** The state machine of one license. Its calls must not overlap: the client queues them. */
export class License {
  #status: Status = { kind: 'not_activated' };
  readonly #ports: LicensePorts;

  constructor(ports: LicensePorts) {
    this.#ports = ports;
  }

  get status(): Status {
    return this.#status;
  }

  /**
   * Decides what a start may do. Within the token's time the application runs at once. Past it, and after a stop, a
   * *heartbeat* asks the service first: never an activation, so a machine that was released takes no seat back. Only the
   * token of another machine is never sent: past its time this machine is activated instead.
   */
  async start(): Promise<CallEnd> {
    const { license, stopped } = this.#ports.store.state;
    if (!license) return NOT_CALLED;
    const { claims, isBelievable, offline_until } = this.#ports.tokens.read(license);
    if (claims) this.#ports.time.atLeast(claims.iat * 1000);
    if (stopped) this.#status = stoppedBy(stopped);
    else if (isBelievable && this.#isTokenValid(license)) this.#status = this.#running(license);
    else this.#status = { kind: 'needs_network', offline_until, reason: 'not_asked_yet' };
    // After a stop, a machine that never had this token takes no seat by itself.
    if (stopped && (await this.#ports.tokens.isOfAnotherMachine(license))) return NOT_CALLED;
    if (this.#status.kind !== 'running') return this.heartbeat();
    await this.rememberTime();
    return NOT_CALLED;
  }

  /** The user clicked Activate. Throws what went wrong; a refusal here changes nothing of what ran before. */
  async activate(activation: Activation): Promise<CallEnd> {
    const outcome = await this.#callActivate(activation);
    if (outcome.kind !== 'confirmed') throw errorOf(outcome);
    return this.#confirm(activation, outcome.confirmation);
  }

  /** One heartbeat, or the activation that takes its place, with all that its answer asks for. Never throws. */
  async heartbeat(): Promise<CallEnd> {
    const { license } = this.#ports.store.state;
    if (!license) return NOT_CALLED;
    if (await this.#ports.tokens.isOfAnotherMachine(license)) return this.#activateHere(license);
    const block = this.#ports.telemetry();
    let outcome = await this.#callHeartbeat(license, block);
    if (block && actionOf(outcome) === 'fix') outcome = await this.#callHeartbeat(license, undefined);
    // A stopped license stays so until the user acts: a background activation could quietly take a released seat back.
    const inBackground = actionOf(outcome) === 'reactivate' && this.#status.kind !== 'stopped';
    if (!inBackground) return this.#follow(outcome, license, false);
    this.#ports.log('the service asked for a new activation');
    return this.#follow(await this.#reactivate(license), license, true);
  }

  /** Keeps the highest time seen on disk. */
  async rememberTime(): Promise<void> {
    const { store, time } = this.#ports;
    if (store.state.license) await store.save({ time: time.toStored() });
  }

  async #callHeartbeat(license: StoredLicense, telemetry: object | undefined): Promise<Outcome> {
    const { transport, log, app_version, store } = this.#ports;
    const { crash } = store.state;
    const body = { token: license.token, app_version, ...(telemetry && { telemetry }) };
    const answer = await transport.call({ method: 'POST', path: '/v1/heartbeat', body });
    const outcome = readLicenseAnswer(answer);
    const answered = outcome.kind !== 'unreachable' || outcome.answered;
    if (answered) log(`heartbeat sent (telemetry: ${telemetry ? 'on' : 'off'})`);
    if (outcome.kind === 'unreachable') log(`heartbeat not confirmed: ${outcome.reason}`);
    if (outcome.kind === 'problem') log(`heartbeat answered with ${outcome.problem.code}`);
    // The signature belongs to one heartbeat. One refused as malformed would be refused again, so it is gone too.
    const delivered = outcome.kind === 'confirmed' || actionOf(outcome) === 'fix';
    if (telemetry && delivered && crash && crash === store.state.crash) await store.save({ crash: null });
    return outcome;
  }

  async #callActivate({ license_key, email, hostname_hint }: Activation): Promise<Outcome> {
    const { transport, app_version, machineId } = this.#ports;
    const machine_id = await machineId();
    const body = { license_key, email, machine_id, ...(hostname_hint && { hostname_hint }), app_version };
    return readLicenseAnswer(await transport.call({ method: 'POST', path: '/v1/activate', body }));
  }

  /**
   * The file holds the token of another machine: it was copied, or the disk or the logic board was replaced. That token
   * is never sent. This machine asks for a place of its own.
   */
  async #activateHere(license: StoredLicense): Promise<CallEnd> {
    // A machine that was released is activated again by the Activate button alone.
    if (isStoppedBy(this.#status, 'binding_released')) return NOT_CALLED;
    this.#ports.log('the license was activated on another machine: activating on this one');
    // The label was typed for the other machine.
    const here = { ...license, hostname_hint: null };
    return this.#follow(await this.#reactivate(here), here, true);
  }

  async #follow(outcome: Outcome, license: StoredLicense, inBackground: boolean): Promise<CallEnd> {
    if (outcome.kind === 'confirmed') return this.#confirm(license, outcome.confirmation);
    if (outcome.kind === 'problem' && this.#mayStop(outcome.problem, license, inBackground))
      await this.#stop(outcome.problem);
    else await this.#carryOn(outcome);
    return { kind: 'unconfirmed', retry_after_seconds: outcome.retry_after_seconds };
  }

  async #reactivate(license: StoredLicense): Promise<Outcome> {
    try {
      return await this.#callActivate(license);
    } catch {
      // No caller waits for this error, and a machine id that cannot be read now stops nothing.
      return unreachable('no machine id');
    }
  }

  async #confirm(activation: Activation, confirmation: Confirmation): Promise<CallEnd> {
    const { token, offline_until, license_expires_at: expires_at } = confirmation;
    const { server_time, heartbeat_after_seconds } = confirmation;
    const { license_key, email, hostname_hint } = activation;
    const license = { license_key, email, hostname_hint, token, offline_until, expires_at };
    this.#ports.time.confirm(Date.parse(server_time));
    await this.#ports.store.save({ license, stopped: null, time: this.#ports.time.toStored() });
    this.#status = this.#running(license);
    return { kind: 'confirmed', heartbeat_after_seconds };
  }

  /** Nothing but `stop` ever stops a running application (docs/contract.md#errors). */
  #mayStop(problem: LicenseProblem, license: StoredLicense, inBackground: boolean): boolean {
    if (problem.client_action !== 'stop') return false;
    const isLenient = inBackground && LENIENT_WHILE_TOKEN_LIVES.includes(problem.code);
    return !(isLenient && this.#status.kind === 'running' && this.#isTokenValid(license));
  }

  async #stop({ code, detail, extras }: LicenseProblem): Promise<void> {
    const { store, time } = this.#ports;
    await store.save({ stopped: { code, detail, extras }, time: time.toStored() });
    this.#status = stoppedBy({ code, detail, extras });
  }

  async #carryOn(outcome: Exclude<Outcome, { kind: 'confirmed' }>): Promise<void> {
    await this.rememberTime();
    const reason = outcome.kind === 'problem' ? outcome.problem.code : outcome.reason;
    if (this.#status.kind === 'needs_network') this.#status = { ...this.#status, reason };
    if (this.#status.kind !== 'running' || outcome.kind !== 'problem') return;
    const { problem } = outcome;
    // The user has until the token's end to release another machine.
    if (problem.client_action === 'stop' && problem.is('machine_limit_reached'))
      this.#status = { ...this.#status, machine_limit_reached: problem.extras };
  }

  /** The 7-day rule: whether a restart may go without the network. */
  #isTokenValid(license: StoredLicense): boolean {
    return this.#ports.time.now() <= Date.parse(this.#ports.tokens.read(license).offline_until);
  }

  #running(license: StoredLicense): Status {
    const { offline_until } = this.#ports.tokens.read(license);
    return { kind: 'running', offline_until, license_expires_at: license.expires_at };
  }
}

function actionOf(outcome: Outcome): string | undefined {
  return outcome.kind === 'problem' ? outcome.problem.client_action : undefined;
}
