import type { LicenseFacts } from '../licenses/license.rules.js';

/** A license, with the activation of the requesting machine if it is activated. */
export interface ActivationAttempt extends LicenseFacts {
  readonly license_id: string;
  readonly machines_allowed: number;
  readonly machines_in_use: number;
  readonly activation_id: string | null;
  readonly activated_at: Date | null;
  readonly hostname_hint: string | null;
}

/** An attempt of a machine that is activated. */
export type SuccessfulAttempt = ActivationAttempt & {
  readonly activation_id: string;
  readonly activated_at: Date;
};
