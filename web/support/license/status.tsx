import type { LicenseView } from '../../shared/api-types.js';
import type { LicenseDetail } from '../types.js';
import { messages } from '../messages.js';

const KIND = { active: 'good', suspended: 'warning', revoked: 'danger', refunded: 'danger' } as const;

export function Status({ license: { status } }: { license: Pick<LicenseView, 'status'> }) {
  return <span class={`tag ${KIND[status]}`}>{messages.license.status[status]}</span>;
}

/** Whose doing the status is. */
export function statusWhy({ status, staff_status }: LicenseDetail): string {
  const why = messages.license.statusWhy;
  return status === 'suspended' && staff_status === 'active' ? why.disputed : why[status];
}
