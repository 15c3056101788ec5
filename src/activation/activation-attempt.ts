import type { LicenseFacts } from '../licenses/license.rules.js';

/**
 * What an activation request reads from the database: the license, and the active activation of the machine. The last three
 * members are null if the machine has none.
 */
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
