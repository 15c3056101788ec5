import type { LicenseDetail, LicenseView } from '../../../src/http/responses/api-types.js';
import { messages } from '../messages.js';

const TAG_CLASSES = { active: 'good', suspended: 'warning', revoked: 'danger', refunded: 'danger' } as const;

export function Status({ license: { status } }: { license: Pick<LicenseView, 'status'> }) {
  return <span class={`tag ${TAG_CLASSES[status]}`}>{messages.license.status[status]}</span>;
}

/** Returns who or what caused the status, such as "by staff"; empty for an active license. */
export function statusReason({ status, staff_status }: LicenseDetail): string {
  const texts = messages.license.statusReasons;
  return status === 'suspended' && staff_status === 'active' ? texts.disputed : texts[status];
}
