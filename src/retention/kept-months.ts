/**
 * How many months the rows of these tables are kept. The support page names the periods in its texts, and reads them here, because
 * the retention policy depends on settings that a page does not have.
 */
export const KEPT_MONTHS = { activation: 12, license: 12, audit_event: 24, erasure_request: 12 } as const;
