import type { LicenseState } from '../licenses/license.rules.js';

/**
 * What an activation request reads from the database: its license, and the active activation of its machine. The last three
 * members are null if the machine has no active activation; `hostname_hint` is also null if the activation has no label.
 */
export interface ActivationAttempt extends LicenseState {
  readonly license_id: string;
  readonly machines_allowed: number;
  /** The number of active activations of the license. It may be null if `activation_id` is null: the SQL function
   * `activate_machine` counts then. */
  readonly machines_in_use: number | null;
  readonly activation_id: string | null;
  readonly activated_at: Date | null;
  readonly hostname_hint: string | null;
}

/** An attempt whose machine has an active activation. */
export type SuccessfulAttempt = ActivationAttempt & {
  readonly activation_id: string;
  readonly activated_at: Date;
  readonly machines_in_use: number;
};
