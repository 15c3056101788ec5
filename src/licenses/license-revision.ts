import { createHash } from 'node:crypto';
import { rfc3339OrNull } from '../core/clock.js';
import type { License } from './license.entity.js';

type ChangeableByStaff = Pick<
  License,
  'staff_status' | 'machines_allowed' | 'expires_at' | 'on_expiry' | 'email'
>;

/**
 * Identifies the values of a license that staff can change. A change that names another revision is refused, because it is
 * based on values that another person has changed meanwhile. @returns 16 characters of base64url
 */
export function licenseRevision(license: ChangeableByStaff): string {
  const { staff_status, machines_allowed, expires_at, on_expiry, email } = license;
  const values = [staff_status, machines_allowed, rfc3339OrNull(expires_at), on_expiry, email];
  return createHash('sha256').update(JSON.stringify(values)).digest('base64url').slice(0, 16);
}
