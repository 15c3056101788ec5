import { errorOf, readLicenseAnswer, type Confirmation, type Outcome } from './believe.js';
import { checkedMembers } from './problem-members.js';
import type { LicenseProblem } from './problem.js';
import type { SeenTime } from './seen-time.js';
import type { StoredLicense, StoredStop } from './state-file.js';
import type { CallEnd, Status } from './status.js';
import type { Store } from './store.js';
import type { CrashSignature, Telemetry } from './telemetry.js';
import type { Transport } from './transport.js';

export interface LicensePorts {
  transport: Transport;
  store: Store;
  time: SeenTime;
  app_version: string;
  machineId(): Promise<string>;
  /** The block of the next heartbeat, or undefined where the user opted out. */
  telemetry(): (Telemetry & CrashSignature) | undefined;
  log(message: string): void;
}

export interface Activation {
  license_key: string;
  email: string;
  hostname_hint: string | null;
}

/** In a background activation these two may only mean that a seat or a row is gone (contract, reactivate). */
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
   * *heartbeat* asks the service first: never an activation, so a machine that was released takes no seat back.
   */
  async start(): Promise<CallEnd> {
    const { license, stopped } = this.#ports.store.state;
    if (!license) return { kind: 'not_called' };
    const { offline_until } = license;
    if (stopped) this.#status = stoppedBy(stopped);
    else if (this.#tokenLives(license)) this.#status = running(license);
    else this.#status = { kind: 'needs_network', offline_until, reason: 'not_asked_yet' };
    if (this.#status.kind !== 'running') return this.heartbeat();
    await this.rememberTime();
    return { kind: 'not_called' };
  }

  /** The user clicked Activate. Throws what went wrong; a refusal here changes nothing of what ran before. */
  async activate(activation: Activation): Promise<CallEnd> {
    const outcome = await this.#callActivate(activation);
    if (outcome.kind !== 'confirmed') throw errorOf(outcome);
    return this.#confirm(activation, outcome.confirmation);
  }

  /** One heartbeat, with all that its answer asks for. Never throws. */
  async heartbeat(): Promise<CallEnd> {
    const { license } = this.#ports.store.state;
    if (!license) return { kind: 'not_called' };
    const block = this.#ports.telemetry();
    let outcome = await this.#callHeartbeat(license, block);
    if (block && actionOf(outcome) === 'fix') outcome = await this.#callHeartbeat(license, undefined);
    // A stopped license stays so until the user acts: a background activation could quietly take a released seat back.
    const inBackground = actionOf(outcome) === 'reactivate' && this.#status.kind !== 'stopped';
    if (inBackground) outcome = await this.#reactivate(license);
    if (outcome.kind === 'confirmed') return this.#confirm(license, outcome.confirmation);
    if (outcome.kind === 'problem' && this.#mayStop(outcome.problem, license, inBackground))
      await this.#stop(outcome.problem);
    else await this.#carryOn(outcome);
    return { kind: 'unconfirmed', retry_after_seconds: outcome.retry_after_seconds };
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

  async #reactivate(license: StoredLicense): Promise<Outcome> {
    this.#ports.log('the service asked for a new activation');
    try {
      return await this.#callActivate(license);
    } catch {
      // Nobody is there to see an error, and a machine id that cannot be read just now stops nothing.
      return {
        kind: 'unreachable',
        reason: 'no machine id',
        answered: false,
        retry_after_seconds: undefined,
      };
    }
  }

  async #confirm(activation: Activation, confirmation: Confirmation): Promise<CallEnd> {
    const { token, offline_until, server_time, heartbeat_after_seconds, license_expires_at } = confirmation;
    const { license_key, email, hostname_hint } = activation;
    const license = {
      license_key,
      email,
      hostname_hint,
      token,
      offline_until,
      expires_at: license_expires_at,
    };
    this.#ports.time.confirm(Date.parse(server_time));
    await this.#ports.store.save({ license, stopped: null, time: this.#ports.time.toStored() });
    this.#status = running(license);
    return { kind: 'confirmed', heartbeat_after_seconds };
  }

  /** Nothing but `stop` ever stops a running application (contract, Errors). */
  #mayStop(problem: LicenseProblem, license: StoredLicense, inBackground: boolean): boolean {
    if (problem.client_action !== 'stop') return false;
    return !(inBackground && LENIENT_WHILE_TOKEN_LIVES.includes(problem.code) && this.#tokenLives(license));
  }

  async #stop({ code, detail, extras }: LicenseProblem): Promise<void> {
    const { store, time } = this.#ports;
    await store.save({ stopped: { code, detail, extras }, time: time.toStored() });
    this.#status = stoppedBy({ code, detail, extras });
  }

  async #carryOn(outcome: Exclude<Outcome, { kind: 'confirmed' }>): Promise<void> {
    await this.rememberTime();
    if (this.#status.kind !== 'needs_network') return;
    const reason = outcome.kind === 'problem' ? outcome.problem.code : outcome.reason;
    this.#status = { ...this.#status, reason };
  }

  /** The 7-day rule: `offline_until` is the last moment a restart may go without the network. */
  #tokenLives(license: StoredLicense): boolean {
    return this.#ports.time.now() <= Date.parse(license.offline_until);
  }
}

function running({ offline_until, expires_at }: StoredLicense): Status {
  return { kind: 'running', offline_until, license_expires_at: expires_at };
}

function stoppedBy({ code, detail, extras }: StoredStop): Status {
  // The file is the user's own: what stands in it is checked like what comes over the wire.
  return { kind: 'stopped', reason: code, detail, extras: checkedMembers(code, extras) };
}

function actionOf(outcome: Outcome): string | undefined {
  return outcome.kind === 'problem' ? outcome.problem.client_action : undefined;
}
