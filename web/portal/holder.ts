import type { HolderLicense, HolderLicensesAnswer } from '../../src/http/responses/api-types.js';
import { serviceTime } from '../shared/dates/service-time.js';

/** The status that the page shows for a license. Unlike the `status` of the service, it depends on the expiry. */
export type DisplayStatus = HolderLicense['status'] | 'expired' | 'updates_ended';

export function displayStatus({ status, expires_at, on_expiry }: HolderLicense): DisplayStatus {
  if (status !== 'active' || !expires_at || Date.parse(expires_at) > serviceTime()) return status;
  return on_expiry === 'stop' ? 'expired' : 'updates_ended';
}

/** Whether the application runs with this license. */
export const isUsable = (license: HolderLicense) =>
  ['active', 'updates_ended'].includes(displayStatus(license));

/** Whether a refund or a revocation has ended the license. The expiry does not count. */
export const isEnded = ({ status }: HolderLicense) => status === 'revoked' || status === 'refunded';

/** How many more machines may use a license; 0 also if the machine limit was lowered below the machines in use. */
export const freePlaces = ({ machines_allowed, machines_in_use }: HolderLicense) =>
  Math.max(0, machines_allowed - machines_in_use);

export const findActivation = ({ licenses }: HolderLicensesAnswer, id: string | null) =>
  licenses.flatMap(({ activations }) => activations).find((activation) => activation.id === id);
