/**
 * An SQL expression for the time when a license ends or ended; null if it has no end. `licenseEnd` computes the same from an
 * entity.
 */
export const LICENSE_END = `least(ended_at, case when on_expiry = 'stop' then expires_at end)`;
/**
 * An SQL expression for the start of the retention period: the end of the license, or the last change of this end if that is
 * later, so that a wrong end can be corrected before the data is deleted (docs/decisions/0023). Null if the license has no end.
 */
export const LICENSE_RETENTION_START = `case when ${LICENSE_END} is not null then greatest(${LICENSE_END}, end_changed_at) end`;
