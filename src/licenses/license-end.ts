/** When a license ends or ended, as SQL over its row; null where it has no end. */
export const LICENSE_END = `least(ended_at, case when on_expiry = 'stop' then expires_at end)`;
/** From when on a license that ended is kept: a wrong end leaves as much time to correct it (docs/decisions/0023). */
export const LICENSE_KEPT_FROM = `case when ${LICENSE_END} is not null then greatest(${LICENSE_END}, end_changed_at) end`;
