import type { OnExpiry } from '../core/config.js';
import { problem, type Problem } from '../http/problems/problem.js';

/** The statuses that staff can give a license. The state of its purchase is separate (`licenseStatus`). */
export const STAFF_STATUSES = ['active', 'suspended', 'revoked'] as const;
export type StaffStatus = (typeof STAFF_STATUSES)[number];
export type PurchaseState = 'paid' | 'disputed' | 'dispute_won' | 'refunded';
export type LicenseStatus = StaffStatus | 'refunded';

/** The state of a license that decides about activations and heartbeats. */
export interface LicenseState {
  readonly staff_status: StaffStatus;
  readonly purchase_state: PurchaseState | null;
  readonly expires_at: Date | null;
  readonly on_expiry: OnExpiry;
}

/**
 * Combines the states of purchase and staff: refunded by the purchase, else revoked by staff, else suspended by either, else
 * active.
 */
export function licenseStatus({
  staff_status,
  purchase_state,
}: Pick<LicenseState, 'staff_status' | 'purchase_state'>): LicenseStatus {
  if (purchase_state === 'refunded') return 'refunded';
  if (staff_status === 'revoked') return 'revoked';
  return staff_status === 'suspended' || purchase_state === 'disputed' ? 'suspended' : 'active';
}

/** The state of a license that decides when it ends. */
interface LicenseEndState extends Pick<LicenseState, 'expires_at' | 'on_expiry'> {
  readonly ended_at: Date | null;
}

/**
 * The time when a license ended by its status or by the erasure of its holder; null if neither has ended it. The expiry is not
 * considered.
 * @param now the time of the change; an earlier end of the license is kept
 */
export function endedAt(
  license: Pick<LicenseState, 'staff_status' | 'purchase_state'> & {
    email: string | null;
    /** Set if a restore lost the address: the holder is not erased. */
    address_lost_at?: Date | null;
    ended_at: Date | null;
  },
  now: Date,
): Date | null {
  const status = licenseStatus(license);
  const isErased = license.email === null && !license.address_lost_at;
  const hasEnded = status === 'refunded' || status === 'revoked' || isErased;
  return hasEnded ? (license.ended_at ?? now) : null;
}

/** The time when a license ends or ended; null if it has no end. `LICENSE_END` is the same in SQL. */
function licenseEnd({ ended_at, expires_at, on_expiry }: LicenseEndState): number | null {
  const ends = [ended_at, on_expiry === 'stop' ? expires_at : null].flatMap((end) => end?.getTime() ?? []);
  return ends.length > 0 ? Math.min(...ends) : null;
}

/**
 * The time of the last change of the end of a license: `now` if the end differs before and after. A license is kept for 12
 * months from the later of its end and this time, so that a wrong end can be corrected (docs/decisions/0023).
 */
export function endChangedAt(
  before: LicenseEndState & { readonly end_changed_at: Date },
  after: LicenseEndState,
  now: Date,
): Date {
  return licenseEnd(before) === licenseEnd(after) ? before.end_changed_at : now;
}

/** The refusal for the status of a license; undefined if it is active. */
export function statusRefusal(license: LicenseState): Problem | undefined {
  const status = licenseStatus(license);
  return status === 'active' ? undefined : problem(`license_${status}`);
}

/** A license is expired from `expires_at` on. With `on_expiry: keep` it remains valid. */
export function expiryRefusal({ expires_at, on_expiry }: LicenseState, now: Date): Problem | undefined {
  if (on_expiry !== 'stop' || !expires_at || now < expires_at) return undefined;
  return problem('license_expired', { expired_at: expires_at });
}
