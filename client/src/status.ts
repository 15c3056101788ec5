import { checkedMembers, type ProblemCode, type ProblemExtras } from './problem-members.js';
import type { StoredStop } from './state-file.js';

/** What the application may do right now. */
export type Status =
  | { kind: 'not_activated' }
  | {
      kind: 'running';
      offline_until: string;
      license_expires_at: string | null;
      /**
       * There where the service has no machine left for this one, which holds no place on the license: another machine
       * has it. After `offline_until` the application stops. Let the user release a machine at `portal_url`.
       */
      machine_limit_reached?: ProblemExtras<'machine_limit_reached'>;
    }
  /** A restart after `offline_until`, and no round trip yet. The client keeps trying; let the user retry too. */
  | { kind: 'needs_network'; offline_until: string; reason: string }
  /** The service answered definitely that this license is not valid here. Show `detail`; offer to activate. */
  | { kind: 'stopped'; reason: string; detail: string; extras: Readonly<Record<string, unknown>> };

/** The status of a stop that was received or kept. The file is the user's own: it is checked like an answer. */
export function stoppedBy({ code, detail, extras }: StoredStop): Status {
  return { kind: 'stopped', reason: code, detail, extras: checkedMembers(code, extras) };
}

/** Whether the license was stopped by that problem, whose `extras` then have their types. */
export function isStoppedBy<Code extends ProblemCode>(
  status: Status,
  code: Code,
): status is Extract<Status, { kind: 'stopped' }> & { reason: Code; extras: ProblemExtras<Code> } {
  return status.kind === 'stopped' && status.reason === code;
}

/** How a call ended, for planning the next one. */
export type CallEnd =
  | { kind: 'confirmed'; heartbeat_after_seconds: number | undefined }
  | { kind: 'unconfirmed'; retry_after_seconds: number | undefined }
  | { kind: 'not_called' };

export const NOT_CALLED: CallEnd = { kind: 'not_called' };
