import type { HolderActivation, HolderLicense, HolderLicensesAnswer } from '../shared/api-types.js';

/** The status of a license as it is shown: expiry counts as a status. */
export type Standing = HolderLicense['status'] | 'expired' | 'updates_ended';

export function standing({ status, expires_at, on_expiry }: HolderLicense): Standing {
  if (status !== 'active' || !expires_at || Date.parse(expires_at) > Date.now()) return status;
  return on_expiry === 'stop' ? 'expired' : 'updates_ended';
}

/** Whether the application works with it. */
export const works = (license: HolderLicense) => ['active', 'updates_ended'].includes(standing(license));

/** How many machines more may use it; none where the number allowed was lowered below those in use. */
export const freePlaces = ({ machines_allowed, machines_in_use }: HolderLicense) =>
  Math.max(0, machines_allowed - machines_in_use);

/** The holder once one binding has changed: asked for, or ended. */
export function withActivation(
  holder: HolderLicensesAnswer,
  id: string,
  change: (
    license: HolderLicense,
    activation: HolderActivation,
  ) => Partial<HolderLicense> & { activation: HolderActivation },
): HolderLicensesAnswer {
  const licenses = holder.licenses.map((license) => {
    const found = license.activations.find((activation) => activation.id === id);
    if (!found) return license;
    const { activation, ...rest } = change(license, found);
    const activations = license.activations.map((each) => (each === found ? activation : each));
    return { ...license, ...rest, activations };
  });
  return { ...holder, licenses };
}
