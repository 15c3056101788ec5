import type { ProblemCode, ProblemExtras } from './problem-members.js';

/** What the application may do right now. */
export type Status =
  | { kind: 'not_activated' }
  | { kind: 'running'; offline_until: string; license_expires_at: string | null }
  /** A restart after `offline_until`, and no round trip yet. The client keeps trying; let the user retry too. */
  | { kind: 'needs_network'; offline_until: string; reason: string }
  /** The service said, definitely, that this license is not valid here. Show `detail`; offer to activate. */
  | { kind: 'stopped'; reason: string; detail: string; extras: Readonly<Record<string, unknown>> };

/** Whether the license was stopped by that problem, whose `extras` then have their types. */
export function isStoppedBy<Code extends ProblemCode>(
  status: Status,
  code: Code,
): status is Extract<Status, { kind: 'stopped' }> & { reason: Code; extras: ProblemExtras<Code> } {
  return status.kind === 'stopped' && status.reason === code;
}

/** How a call ended, for whoever plans the next one. */
export type CallEnd =
  | { kind: 'confirmed'; heartbeat_after_seconds: number | undefined }
  | { kind: 'unconfirmed'; retry_after_seconds: number | undefined }
  | { kind: 'not_called' };
