/** An SQL expression for the time when a license ends or ended; null if it has no end. `licenseEnd` computes the same. */
export const LICENSE_END = `least(ended_at, case when on_expiry = 'stop' then expires_at end)`;
/** An SQL expression for the start of the retention period, so that a wrong end can be corrected (docs/decisions/0023). */
export const LICENSE_KEPT_FROM = `case when ${LICENSE_END} is not null then greatest(${LICENSE_END}, end_changed_at) end`;
