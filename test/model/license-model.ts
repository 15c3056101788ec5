import type { PurchaseState, StaffStatus } from '../../src/licenses/license.rules.js';

/*
 * A model of a few licenses according to the contract: plain data, and how each command changes it. It uses no code of the
 * service, so that the service is compared with an independent implementation.
 */

const RANKED: readonly PurchaseState[] = ['paid', 'disputed', 'dispute_won', 'refunded'];
/** A published version, and the expiry that a license needs at least to cover it. */
export const GUARDED = { version: '4.0.0', minimum: Date.parse('2027-01-01T00:00:00Z') };
/** A version that every license covers. */
export const UNGUARDED = '3.2.0';
export const SELF_RELEASES = 1;
export const DEFAULT_MACHINES = 2;
const YEAR = 365 * 86_400_000;
const TWO_WEEKS = 14 * 86_400_000;

export interface Binding {
  id: string;
  machine: string;
  hostname_hint: string | null;
  app_version: string;
  activated_at: number;
  ended: { at: number; reason: 'released' | 'refunded' } | null;
  by_holder: boolean;
  /** The release requests of its holder, the newest last. */
  requests: { at: number; decision: string | null; decided_at: number | null }[];
}
export interface License {
  /** Null until it is issued, and after its holder was erased; `is_issued` distinguishes them. */
  email: string | null;
  is_issued: boolean;
  /** When its address last changed; null if it never did. */
  email_since: number | null;
  generation: number;
  /** When each earlier key was replaced, the first key first. */
  replaced_at: number[];
  machines_allowed: number;
  expires_at: number | null;
  on_expiry: 'keep' | 'stop';
  staff_status: StaffStatus;
  /** Since when it is refunded, revoked or erased; it is kept for a year after that. */
  ended_at: number | null;
  /** When its end or its expiry last changed; it is kept for at least a year after that. */
  end_changed_at: number;
  /** Whether its retention period is over, so that none of its rows is left. */
  is_gone: boolean;
  /** The reports of the payment processor; null for a license that staff issued. */
  reports: PurchaseState[] | null;
  bindings: Binding[];
}
export interface ModelState {
  now: number;
  licenses: License[];
  /** The addresses that commands of the current batch erased, whose sessions ended. */
  erased: string[];
  /** The bindings whose retention period is over. */
  forgotten: string[];
}
export type Terms = Partial<
  Pick<License, 'machines_allowed' | 'expires_at' | 'on_expiry' | 'staff_status'> & { email: string }
>;

/** The retention rules in their order: end activations of ended licenses, delete activations, delete licenses. */
export const NIGHT = ['end', 'activation', 'license'] as const;
export type NightRule = (typeof NIGHT)[number];

/** A command. `of` is the index of the license in `ModelState`. Bindings are named by id, requests by index. */
export type Command =
  | { do: 'issue'; of: number; email: string; terms: Terms }
  | { do: 'report'; of: number; email: string; status: PurchaseState }
  | {
      do: 'activate';
      of: number;
      generation: number;
      email: string;
      machine: string;
      hostname_hint: string;
      app_version: string;
    }
  | { do: 'heartbeat'; of: number; binding: string; app_version: string; token: string; telemetry: boolean }
  | { do: 'release'; of: number; binding: string }
  | { do: 'self-release'; of: number; binding: string; email: string }
  | { do: 'ask'; of: number; binding: string; email: string }
  | { do: 'decide'; of: number; binding: string; nth: number; decision: string }
  | { do: 'change'; of: number; terms: Terms }
  | { do: 'rekey'; of: number }
  | { do: 'erase'; email: string }
  // One rule of a retention run for one license.
  | { do: 'night'; of: number; rule: NightRule }
  | { do: 'restart' }
  | { do: 'move'; seconds: number };

/** A response: status, code and client_action in one line, and its other members. */
export interface Outcome {
  readonly says: string;
  readonly binding?: string;
  readonly [fact: string]: unknown;
}

export const refused = (code: string, status = 403, action = 'stop') => ({
  says: `${status} ${code} ${action}`,
});

export const purchaseState = ({ reports }: License): PurchaseState | null =>
  RANKED.findLast((state) => reports?.includes(state)) ?? null;

export function statusOf(license: License): string {
  if (purchaseState(license) === 'refunded') return 'refunded';
  if (license.staff_status === 'revoked') return 'revoked';
  const isDisputed = purchaseState(license) === 'disputed';
  return license.staff_status === 'suspended' || isDisputed ? 'suspended' : 'active';
}

export const activeOf = ({ bindings }: License) => bindings.filter(({ ended }) => !ended);

export const selfReleasesLeft = (license: License, now: number) =>
  SELF_RELEASES -
  license.bindings.filter(
    (binding) => binding.by_holder && now - binding.ended!.at < YEAR && !isOfFormerHolder(license, binding),
  ).length;

/** Whether a binding ended before the license got its present address. */
export const isOfFormerHolder = ({ email_since }: License, { ended }: Binding): boolean =>
  ended !== null && email_since !== null && ended.at <= email_since;

/** The first refusal that applies, in the order of the contract. */
export function refusal(license: License, binding: Binding | null, app_version: string, now: number) {
  const { expires_at, on_expiry } = license;
  if (statusOf(license) !== 'active') return refused(`license_${statusOf(license)}`);
  if (binding?.ended) {
    const isActiveAgain = activeOf(license).some(({ machine }) => machine === binding.machine);
    return isActiveAgain ? refused('token_invalid', 403, 'reactivate') : refused('binding_released');
  }
  if (expires_at === null) return undefined;
  if (on_expiry === 'stop' && now >= expires_at)
    return { ...refused('license_expired'), expired_at: expires_at };
  const isGuarded = app_version === GUARDED.version && expires_at < GUARDED.minimum;
  return isGuarded ? refused('version_not_covered') : undefined;
}

export function end(binding: Binding, at: number, reason: 'released' | 'refunded'): void {
  binding.ended ??= { at, reason };
}

/** Whether `months` months have passed since the day of an end. */
function isRetentionOver(end: number | null, now: number, months = 12): boolean {
  if (end === null) return false;
  const day = new Date(end);
  const first = new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + months, 1));
  const [year, month] = [first.getUTCFullYear(), first.getUTCMonth()];
  const lastOfMonth = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return Date.UTC(year, month, Math.min(day.getUTCDate(), lastOfMonth)) <= now;
}

/** When a license ends or ended; null if it has no end. */
function endOf({ ended_at, on_expiry, expires_at }: License): number | null {
  const ends = [ended_at, on_expiry === 'stop' ? expires_at : null].filter((end) => end !== null);
  return ends.length > 0 ? Math.min(...ends) : null;
}

function endActivations({ now }: ModelState, license: License, keptFrom: number | null): void {
  if (!isRetentionOver(keptFrom, now, 11)) return;
  for (const binding of activeOf(license)) {
    end(binding, now, 'released');
    for (const request of binding.requests.filter(({ decision }) => decision === null))
      Object.assign(request, { decision: 'release', decided_at: now });
  }
}

export function forget(state: ModelState, license: License, rule: NightRule): void {
  const { now } = state;
  const { is_issued, end_changed_at, bindings } = license;
  const ends = is_issued ? endOf(license) : null;
  const keptFrom = ends === null ? null : Math.max(ends, end_changed_at);
  if (rule === 'end') return endActivations(state, license, keptFrom);
  const wasUsedRecently = bindings.some(({ ended }) => !ended || ended.at > now - TWO_WEEKS);
  if (rule === 'license' && isRetentionOver(keptFrom, now) && !wasUsedRecently)
    Object.assign(license, { is_gone: true, email: null });
  const [gone, kept] = split(license.bindings, ({ ended }) =>
    rule === 'license' ? license.is_gone : isRetentionOver(ended?.at ?? null, now),
  );
  license.bindings = kept;
  state.forgotten.push(...gone.map(({ id }) => id));
}

function split<T>(all: readonly T[], isFirst: (each: T) => boolean): [T[], T[]] {
  return [all.filter(isFirst), all.filter((each) => !isFirst(each))];
}

/** Runs a change that may change the end of the license, and records the end and the time of the change. */
export function changeEnd(license: License, now: number, change: () => void): void {
  const before = license.is_issued ? endOf(license) : undefined;
  change();
  const { is_issued, email, ended_at } = license;
  if (!is_issued) return;
  const hasEnded = ['refunded', 'revoked'].includes(statusOf(license)) || email === null;
  license.ended_at = hasEnded ? (ended_at ?? now) : null;
  if (endOf(license) !== before) license.end_changed_at = now;
}
