import { EntityManager } from 'typeorm';
import { execute } from '../database/sql.js';

/**
 * Sets the time of the events `license.reinstated` and `license.erased` of this transaction (`record_license_end` in migrations/):
 * the end of a license may be older than its correction or its erasure.
 */
export async function setEventTime(manager: EntityManager, at: Date): Promise<void> {
  await execute(manager, `select set_config('mooring.event_time', $1, true)`, [at.toISOString()]);
}
