import type { OnExpiry } from '../config.js';
import { problem, type Problem } from '../http/problem.js';

export type StaffStatus = 'active' | 'suspended' | 'revoked';
export type PurchaseState = 'paid' | 'disputed' | 'dispute_won' | 'refunded';
export type LicenseStatus = StaffStatus | 'refunded';

/** What a decision about a license needs to know of it. */
export interface LicenseFacts {
  readonly staff_status: StaffStatus;
  readonly purchase_state: PurchaseState | null;
  readonly expires_at: Date | null;
  readonly on_expiry: OnExpiry;
}

/** Neither side lifts what the other says: refunded by its purchase, else revoked by staff, else suspended by either. */
export function licenseStatus({
  staff_status,
  purchase_state,
}: Pick<LicenseFacts, 'staff_status' | 'purchase_state'>): LicenseStatus {
  if (purchase_state === 'refunded') return 'refunded';
  if (staff_status === 'revoked') return 'revoked';
  return staff_status === 'suspended' || purchase_state === 'disputed' ? 'suspended' : 'active';
}

/** When a license ended, as far as its status and its holder say: from then on it is kept 12 months (retention). */
export function endedAt(
  license: Pick<LicenseFacts, 'staff_status' | 'purchase_state'> & {
    email: string | null;
    ended_at: Date | null;
  },
  now: Date,
): Date | null {
  const status = licenseStatus(license);
  const ended = status === 'refunded' || status === 'revoked' || license.email === null;
  return ended ? (license.ended_at ?? now) : null;
}

/** The refusal a license's status demands, the first in the contract's order; undefined where it is active. */
export function statusRefusal(license: LicenseFacts): Problem | undefined {
  const status = licenseStatus(license);
  return status === 'active' ? undefined : problem(`license_${status}`);
}

/** Expired means now ≥ expires_at; only a license that says `stop` stops then. */
export function expiryRefusal({ expires_at, on_expiry }: LicenseFacts, now: Date): Problem | undefined {
  if (on_expiry !== 'stop' || !expires_at || now < expires_at) return undefined;
  return problem('license_expired', { expired_at: expires_at });
}
