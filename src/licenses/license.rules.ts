import type { OnExpiry } from '../core/config.js';
import { problem, type Problem } from '../http/problems/problem.js';

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

/** What decides when a license ends. */
export interface EndFacts extends Pick<LicenseFacts, 'expires_at' | 'on_expiry'> {
  readonly ended_at: Date | null;
}

/** When a license ended as far as its status and its holder say; its expiry is not looked at. */
export function endedAt(
  license: Pick<LicenseFacts, 'staff_status' | 'purchase_state'> & {
    email: string | null;
    /** Set where a restore lost the address of a holder who is there. */
    address_lost_at?: Date | null;
    ended_at: Date | null;
  },
  now: Date,
): Date | null {
  const status = licenseStatus(license);
  const isErased = license.email === null && !license.address_lost_at;
  const ended = status === 'refunded' || status === 'revoked' || isErased;
  return ended ? (license.ended_at ?? now) : null;
}

/** When a license ends or ended; null where it has no end. The retention policy says the same in SQL. */
function licenseEnd({ ended_at, expires_at, on_expiry }: EndFacts): number | null {
  const ends = [ended_at, on_expiry === 'stop' ? expires_at : null].flatMap((end) => end?.getTime() ?? []);
  return ends.length > 0 ? Math.min(...ends) : null;
}

/**
 * When the end of a license was last changed, for a change that is made now. A license is kept 12 months from the later of
 * its end and this moment, so that a wrong date can be corrected (docs/decisions/0023).
 */
export function endChangedAt(
  before: EndFacts & { readonly end_changed_at: Date },
  after: EndFacts,
  now: Date,
): Date {
  return licenseEnd(before) === licenseEnd(after) ? before.end_changed_at : now;
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
