import { rfc3339OrNull } from '../core/clock.js';
import { revisionOf } from '../core/revision.js';
import type { License } from './license.entity.js';

export type ChangeableByStaff = Pick<
  License,
  'staff_status' | 'machines_allowed' | 'expires_at' | 'on_expiry' | 'email' | 'key_generation'
>;

/**
 * Returns the revision of a license: an identifier of the values that staff can change (`revisionOf`). They include
 * `key_generation`, which increases when staff replace the key.
 */
export function licenseRevision(license: ChangeableByStaff): string {
  const { staff_status, machines_allowed, expires_at, on_expiry, email, key_generation } = license;
  const expiry = rfc3339OrNull(expires_at);
  return revisionOf([staff_status, machines_allowed, expiry, on_expiry, email, key_generation]);
}
