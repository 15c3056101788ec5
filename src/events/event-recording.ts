import { DataSource, EntityManager } from 'typeorm';
import { recordAudit, type AuditContext } from '../audit/audit.js';
import { LOCK_TIMEOUT_MS, withLockRetries } from '../database/locks.js';
import { affectedRows, execute, queryRow } from '../database/sql.js';

/** Turns the recording of events on, if it is off. @param now the time since which events are recorded */
export async function startRecording(dataSource: DataSource, now: Date): Promise<void> {
  if (await queryRow(dataSource, 'select 1 from event_recording')) return;
  await withLockRetries(() => dataSource.transaction((manager) => setRecording(manager, true, now)));
}

/**
 * Turns the recording of events off, and then deletes the stored ones. If the command is interrupted, its repetition deletes the
 * rest. @returns the number of deleted events
 */
export async function stopRecording(dataSource: DataSource, audit: AuditContext, now: Date): Promise<number> {
  await withLockRetries(() =>
    dataSource.transaction(async (manager) => {
      await setRecording(manager, false, now);
      await recordAudit(manager, audit, { action: 'events.stop', at: now });
    }),
  );
  // The deletion is not in that transaction, which delays activations until its end.
  let events = 0;
  for (let deleted; (deleted = await affectedRows(dataSource.manager, DELETE_STORED)) > 0;) events += deleted;
  return events;
}

const DELETE_STORED = `
  delete from outgoing_event where position in (select position from outgoing_event order by position limit 5000)`;

// `record_events` enables or disables triggers. For that it waits for the writers of their tables, and later writers wait for it.
// So its own wait is limited.
async function setRecording(manager: EntityManager, isRecording: boolean, now: Date): Promise<void> {
  await execute(manager, `set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
  await execute(manager, 'select record_events($1, $2)', [isRecording, now]);
}
