/** What `GET /portal/api/licenses` answers (contract, section 3). */
export interface Holder {
  readonly signed_in_by: 'key' | 'code';
  readonly email: string;
  readonly erasure: Erasure | null;
  /** The last day a purchase of theirs is kept for tax; told where the mailbox is proven. */
  readonly purchases_kept_until: string | null;
  readonly licenses: readonly License[];
}

export interface Erasure {
  readonly id: string;
  readonly received_on: string;
  readonly runs_at: string;
}

export interface License {
  readonly id: string;
  readonly key_hint: string;
  readonly status: 'active' | 'suspended' | 'refunded' | 'revoked';
  readonly expires_at: string | null;
  readonly on_expiry: 'keep' | 'stop';
  readonly machines_allowed: number;
  readonly machines_in_use: number;
  readonly self_releases_left: number;
  readonly activations: readonly Activation[];
}

export interface Activation {
  readonly id: string;
  readonly hostname_hint: string | null;
  readonly app_version: string;
  readonly activated_at: string;
  readonly state: 'active' | 'released' | 'refunded';
  readonly ended_at: string | null;
  readonly ended_reason: 'released' | 'refunded' | null;
  readonly release_requested_at: string | null;
}

/** How a license stands, for people: its status, or that it has expired. */
export type Standing = License['status'] | 'expired' | 'updates_ended';

export function standing({ status, expires_at, on_expiry }: License): Standing {
  if (status !== 'active' || !expires_at || Date.parse(expires_at) > Date.now()) return status;
  return on_expiry === 'stop' ? 'expired' : 'updates_ended';
}

/** Whether the application works with it. */
export const works = (license: License) => ['active', 'updates_ended'].includes(standing(license));

/** How many machines more may use it; none where the number allowed was lowered below those in use. */
export const freePlaces = ({ machines_allowed, machines_in_use }: License) =>
  Math.max(0, machines_allowed - machines_in_use);

/** The holder once one binding has changed: asked for, or ended. */
export function withActivation(
  holder: Holder,
  id: string,
  change: (license: License, activation: Activation) => Partial<License> & { activation: Activation },
): Holder {
  const licenses = holder.licenses.map((license) => {
    const found = license.activations.find((activation) => activation.id === id);
    if (!found) return license;
    const { activation, ...rest } = change(license, found);
    const activations = license.activations.map((each) => (each === found ? activation : each));
    return { ...license, ...rest, activations };
  });
  return { ...holder, licenses };
}
