/**
 * Periods in months. A key with the name of a table says how long its rows are kept (policy.ts says from when). The support page
 * names the periods in its texts, and reads them here, because the retention policy depends on settings that a page does not have.
 */
export const KEPT_MONTHS = {
  activation: 12,
  license: 12,
  /**
   * How long an activation stays active after the end of its license. Activations end one month before their license is deleted. In
   * this month staff can still correct the license; machines are then activated again with the same key.
   */
  activation_of_ended_license: 11,
  audit_event: 24,
  erasure_request: 12,
} as const;
