import { rfc3339OrNull } from '../core/clock.js';
import { revisionOf } from '../core/revision.js';
import type { License } from './license.entity.js';

type ChangeableByStaff = Pick<
  License,
  'staff_status' | 'machines_allowed' | 'expires_at' | 'on_expiry' | 'email'
>;

/** Identifies the values of a license that staff can change. */
export function licenseRevision(license: ChangeableByStaff): string {
  const { staff_status, machines_allowed, expires_at, on_expiry, email } = license;
  return revisionOf([staff_status, machines_allowed, rfc3339OrNull(expires_at), on_expiry, email]);
}
