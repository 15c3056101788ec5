import { checkedMembers, type ProblemCode, type ProblemExtras } from './problem-members.js';
import type { StoredStop } from './state.js';

/** What the application may do now. */
export type Status =
  | { kind: 'not_activated' }
  | {
      kind: 'running';
      offline_until: string;
      license_expires_at: string | null;
      /**
       * Set if this machine could not be activated because other machines use the whole license. The first such refusal
       * after `offline_until` stops the application. Let the user release a machine at `portal_url`.
       */
      machine_limit_reached?: ProblemExtras<'machine_limit_reached'>;
    }
  /**
   * The application was started after `offline_until`, or with a token that fails its checks, and was not confirmed
   * since. The client keeps trying; offer Retry. `reason` is the code of the last refusal or the reason of the last missing answer;
   * before the first one it is `not_asked_yet`.
   */
  | { kind: 'needs_network'; offline_until: string; reason: string }
  /** The service answered with the problem code `reason` and the action `stop`. Show `detail`; offer Retry and Activate. */
  | { kind: 'stopped'; reason: string; detail: string; extras: Readonly<Record<string, unknown>> };

/** The status after a received or stored stop. The user can edit the file, so its members are checked like a response. */
export function stoppedBy({ code, detail, extras }: StoredStop): Status {
  return { kind: 'stopped', reason: code, detail, extras: checkedMembers(code, extras) };
}

/** Whether the license was stopped by a problem with this code; narrows the types of `extras`. */
export function isStoppedBy<Code extends ProblemCode>(
  status: Status,
  code: Code,
): status is Extract<Status, { kind: 'stopped' }> & { reason: Code; extras: ProblemExtras<Code> } {
  return status.kind === 'stopped' && status.reason === code;
}

/**
 * The service uses these codes only for activations, never for heartbeats. The refusal of a background activation with one of them
 * stops a running application only after the token's end.
 */
export const REFUSALS_OF_ACTIVATIONS: readonly string[] = ['license_not_found', 'machine_limit_reached'];

/**
 * Whether the client activates when a heartbeat is answered with the action `reactivate`. After a stop it does so only if the stop
 * came from a refused background activation: the service does not know the token, so no heartbeat could end that stop. After any
 * other stop it does not, because a released machine would activate itself again.
 */
export const mayReactivate = (status: Status): boolean =>
  status.kind !== 'stopped' || REFUSALS_OF_ACTIVATIONS.includes(status.reason);

/**
 * Whether a heartbeat may have telemetry. Even if a firewall refuses each body with telemetry, the application must start, and a
 * stop must be able to end: so only the first heartbeat of an application that waits for the network has telemetry, and none after
 * a stop.
 */
export const hasTelemetry = (status: Status): boolean =>
  status.kind === 'running' || (status.kind === 'needs_network' && status.reason === 'not_asked_yet');

/** The result of a call, which decides when the next one is sent. */
export type CallEnd =
  | { kind: 'confirmed'; heartbeat_after_seconds: number | undefined }
  | { kind: 'unconfirmed'; retry_after_seconds: number | undefined }
  | { kind: 'not_called' };

export const NOT_CALLED: CallEnd = { kind: 'not_called' };
