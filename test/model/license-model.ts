import type { PurchaseState, StaffStatus } from '../../src/licenses/license.rules.js';

/*
 * A model of a few licenses according to the contract: plain data, and how each command changes it. It uses no code of the
 * service, so that the service is compared with an independent implementation.
 */

/** A purchase has the state that is last in this list among the reported ones; the order of the reports does not matter. */
const PURCHASE_STATES_BY_PRECEDENCE: readonly PurchaseState[] = [
  'paid',
  'disputed',
  'dispute_won',
  'refunded',
];
/** A published version, and the earliest expiry of a license that covers it. */
export const RESTRICTED_VERSION = { version: '4.0.0', minimumExpiry: Date.parse('2027-01-01T00:00:00Z') };
/** A version that every license covers. */
export const UNRESTRICTED_VERSION = '3.2.0';
/** How many activations of a license its holder may release within 365 days. */
export const SELF_RELEASES_PER_YEAR = 1;
export const DEFAULT_MACHINES = 2;
const YEAR_MS = 365 * 86_400_000;
/** A license is not deleted while an activation of it is active, or ended within this time. */
const MIN_UNUSED_MS = 14 * 86_400_000;
/** The id of an activation whose request got a 503 or no response, until another response or a view shows the id. */
export const UNKNOWN_ID = '?';

export interface Activation {
  id: string;
  machine: string;
  hostname_hint: string | null;
  app_version: string;
  activated_at: number;
  ended: { at: number; reason: 'released' | 'refunded' } | null;
  /** Whether its holder ended it, not staff. */
  released_by_holder: boolean;
  /** The release requests, the newest last. */
  requests: { at: number; decision: string | null; decided_at: number | null }[];
}
export interface License {
  /** Null before the license is issued (`is_issued`), after its holder was erased, and after the license was deleted. */
  email: string | null;
  is_issued: boolean;
  /** When staff last gave the license another address; null if they never did. */
  email_since: number | null;
  /** The number of license keys that the license has had. */
  generation: number;
  /** When each earlier license key was replaced, in the order of the keys. */
  replaced_at: number[];
  machines_allowed: number;
  expires_at: number | null;
  on_expiry: 'keep' | 'stop';
  staff_status: StaffStatus;
  /** Since when the license is refunded, revoked or erased; null otherwise. */
  ended_at: number | null;
  /** When the result of `endOf` last changed; the license is kept for at least a year after that. */
  end_changed_at: number;
  /** Whether a retention run has deleted the license and its activations. */
  is_deleted: boolean;
  /** The reports of the payment processor; null for a license that staff issued. */
  reports: PurchaseState[] | null;
  activations: Activation[];
}
export interface ModelState {
  now: number;
  licenses: License[];
  /** The addresses that commands of the current batch erased; their sessions have ended. */
  erased: string[];
  /** The ids of the activations that a retention run has deleted. */
  deletedActivations: string[];
}
export type Terms = Partial<
  Pick<License, 'machines_allowed' | 'expires_at' | 'on_expiry' | 'staff_status'> & { email: string }
>;

/** The retention rules, in the order in which a retention run applies them. */
export const RETENTION_RULES = ['end-activations', 'delete-activations', 'delete-licenses'] as const;
export type RetentionRule = (typeof RETENTION_RULES)[number];

/** A change of the state or a request. `requestIndex` is the position of a release request among those of its activation. */
export type Command =
  | { type: 'issue'; licenseIndex: number; email: string; terms: Terms }
  | { type: 'report'; licenseIndex: number; email: string; status: PurchaseState }
  | {
      type: 'activate';
      licenseIndex: number;
      generation: number;
      email: string;
      machine: string;
      hostname_hint: string;
      app_version: string;
    }
  | {
      type: 'heartbeat';
      licenseIndex: number;
      activationId: string;
      app_version: string;
      token: string;
      telemetry: boolean;
    }
  | { type: 'release'; licenseIndex: number; activationId: string }
  | { type: 'self-release'; licenseIndex: number; activationId: string; email: string }
  | { type: 'request-release'; licenseIndex: number; activationId: string; email: string }
  | { type: 'decide'; licenseIndex: number; activationId: string; requestIndex: number; decision: string }
  | { type: 'change-license'; licenseIndex: number; terms: Terms }
  | { type: 'rekey'; licenseIndex: number }
  | { type: 'erase'; email: string }
  // A retention run is one such command for each license and rule.
  | { type: 'apply-retention'; licenseIndex: number; rule: RetentionRule }
  | { type: 'restart-instance' }
  | { type: 'advance-clock'; seconds: number };

/** A response, or what a command that is no request has done. */
export interface Outcome {
  /** The status, and for a problem also its code and its `client_action`, as `403 binding_released stop`. */
  readonly result: string;
  /** The id of the activation that the response is about. */
  readonly activationId?: string;
  /** The other members of the response that the model predicts. */
  readonly [member: string]: unknown;
}

/** The outcome of a refused request; most refusals are a 403 that stops the application. */
export const refusedOutcome = (code: string, status = 403, action = 'stop') => ({
  result: `${status} ${code} ${action}`,
});

export const purchaseState = ({ reports }: License): PurchaseState | null =>
  PURCHASE_STATES_BY_PRECEDENCE.findLast((state) => reports?.includes(state)) ?? null;

export function statusOf(license: License): string {
  if (purchaseState(license) === 'refunded') return 'refunded';
  if (license.staff_status === 'revoked') return 'revoked';
  const isDisputed = purchaseState(license) === 'disputed';
  return license.staff_status === 'suspended' || isDisputed ? 'suspended' : 'active';
}

export const activeOf = ({ activations }: License) => activations.filter(({ ended }) => !ended);

export const selfReleasesLeft = (license: License, now: number) =>
  SELF_RELEASES_PER_YEAR -
  license.activations.filter(
    (activation) =>
      activation.released_by_holder &&
      now - activation.ended!.at < YEAR_MS &&
      !isOfFormerHolder(license, activation),
  ).length;

/** Rounds a time in milliseconds down to a whole second, as in responses. */
export const toWholeSecond = (at: number): number => Math.floor(at / 1000) * 1000;

/** Whether an activation had already ended when the license got its present address. */
export const isOfFormerHolder = ({ email_since }: License, { ended }: Activation): boolean =>
  ended !== null && email_since !== null && ended.at <= email_since;

/** Returns the first refusal that applies, in the order of the contract; undefined if the request is allowed. */
export function findRefusal(
  license: License,
  activation: Activation | null,
  app_version: string,
  now: number,
) {
  const { expires_at, on_expiry } = license;
  if (statusOf(license) !== 'active') return refusedOutcome(`license_${statusOf(license)}`);
  if (activation?.ended) {
    const isActiveAgain = activeOf(license).some(({ machine }) => machine === activation.machine);
    return isActiveAgain
      ? refusedOutcome('token_invalid', 403, 'reactivate')
      : refusedOutcome('binding_released');
  }
  if (expires_at === null) return undefined;
  if (on_expiry === 'stop' && now >= expires_at)
    return { ...refusedOutcome('license_expired'), expired_at: expires_at };
  const isCovered =
    app_version !== RESTRICTED_VERSION.version || expires_at >= RESTRICTED_VERSION.minimumExpiry;
  return isCovered ? undefined : refusedOutcome('version_not_covered');
}

/** Ends an activation, unless it has ended already. */
export function endActivation(activation: Activation, at: number, reason: 'released' | 'refunded'): void {
  activation.ended ??= { at, reason };
}

/** Whether this many calendar months have passed since the day of an end; false without an end. */
function isRetentionOver(end: number | null, now: number, months = 12): boolean {
  if (end === null) return false;
  const day = new Date(end);
  const firstOfMonth = new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + months, 1));
  const [year, month] = [firstOfMonth.getUTCFullYear(), firstOfMonth.getUTCMonth()];
  const lastOfMonth = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return Date.UTC(year, month, Math.min(day.getUTCDate(), lastOfMonth)) <= now;
}

/** When a license ends or has ended; null if it has no end. */
function endOf({ ended_at, on_expiry, expires_at }: License): number | null {
  const ends = [ended_at, on_expiry === 'stop' ? expires_at : null].filter((end) => end !== null);
  return ends.length > 0 ? Math.min(...ends) : null;
}

/** The activations of an ended license end a month before its deletion, so that staff can correct a wrong end. */
const MONTHS_UNTIL_ACTIVATIONS_END = 11;

function endActivations({ now }: ModelState, license: License, periodStart: number | null): void {
  if (!isRetentionOver(periodStart, now, MONTHS_UNTIL_ACTIVATIONS_END)) return;
  for (const activation of activeOf(license)) {
    endActivation(activation, now, 'released');
    for (const request of activation.requests.filter(({ decision }) => decision === null))
      Object.assign(request, { decision: 'release', decided_at: now });
  }
}

export function applyRetentionRule(state: ModelState, license: License, rule: RetentionRule): void {
  const { now } = state;
  const { is_issued, end_changed_at, activations } = license;
  const endedAt = is_issued ? endOf(license) : null;
  const periodStart = endedAt === null ? null : Math.max(endedAt, end_changed_at);
  if (rule === 'end-activations') return endActivations(state, license, periodStart);
  const isInUse = activations.some(({ ended }) => !ended || ended.at > now - MIN_UNUSED_MS);
  if (rule === 'delete-licenses' && isRetentionOver(periodStart, now) && !isInUse)
    Object.assign(license, { is_deleted: true, email: null });
  const [deletedNow, kept] = partition(license.activations, ({ ended }) =>
    rule === 'delete-licenses' ? license.is_deleted : isRetentionOver(ended?.at ?? null, now),
  );
  license.activations = kept;
  state.deletedActivations.push(...deletedNow.map(({ id }) => id));
}

function partition<T>(all: readonly T[], isIncluded: (each: T) => boolean): [T[], T[]] {
  return [all.filter(isIncluded), all.filter((each) => !isIncluded(each))];
}

/** Makes a change that may move the end of the license, and records the end and when it was moved. */
export function changeAndRecordEnd(license: License, now: number, change: () => void): void {
  const before = license.is_issued ? endOf(license) : undefined;
  change();
  const { is_issued, email, ended_at } = license;
  if (!is_issued) return;
  const hasEnded = ['refunded', 'revoked'].includes(statusOf(license)) || email === null;
  license.ended_at = hasEnded ? (ended_at ?? now) : null;
  if (endOf(license) !== before) license.end_changed_at = now;
}
