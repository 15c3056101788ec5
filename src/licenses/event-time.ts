import { EntityManager } from 'typeorm';
import { execute } from '../database/sql.js';

/**
 * Sets the time of the events `license.reinstated` and `license.erased` that this transaction causes (`record_license_end` in
 * migrations/). The trigger cannot read it from the license: `ended_at` may be older, and is null after a reinstatement.
 */
export async function setEventTime(manager: EntityManager, at: Date): Promise<void> {
  await execute(manager, `select set_config('mooring.event_time', $1, true)`, [at.toISOString()]);
}
