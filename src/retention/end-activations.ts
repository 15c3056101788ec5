import { EntityManager, QueryRunner } from 'typeorm';
import { recordAudit } from '../audit/audit.js';
import { execute, queryIds, queryOne, queryRows } from '../database/sql.js';
import { firstDayKept } from './cutoff.js';
import { LICENSE_RETENTION_START } from '../licenses/license-end.js';
import { KEPT_MONTHS } from './kept-months.js';

/** The largest number of activations that one transaction ends. */
const ACTIVATION_BATCH_ROWS = 500;

const RETENTION_AUDIT = {
  actor: 'retention',
  reason: `The license ended over ${KEPT_MONTHS.activation_of_ended_license} months ago, and its end has not been changed in that time.`,
};

const LICENSE_IS_DUE = `${LICENSE_RETENTION_START} < $1::date
  and exists (select 1 from activation a where a.license_id = license.id and a.ended_at is null)`;

// The license is locked first, as in each activation and each change of a license. A license that another transaction
// has locked is skipped, and the next run tries again, because that transaction may correct the end of the license.
const SELECT_DUE_ACTIVATIONS = `
  with due as (select id from license where ${LICENSE_IS_DUE} limit ${ACTIVATION_BATCH_ROWS} for update skip locked)
  select id from activation where license_id in (select id from due) and ended_at is null limit ${ACTIVATION_BATCH_ROWS}`;
// The state is checked again under the lock, because an activation may have been released since the statement above started.
const END_ACTIVATIONS = `
  update activation set ended_at = $2, ended_reason = 'released'
  where id = any($1) and ended_at is null returning id, license_id`;
// The reason of the outgoing events of this transaction (`record_release` in migrations/).
const SET_RELEASE_REASON = `select set_config('mooring.release_reason', 'retention', true)`;
// The language of a request is stored only for the mail about its decision, which is not sent here.
const DECIDE_RELEASE_REQUESTS = `
  update release_request set decision = 'release', decided_at = $2, language = null
  where activation_id = any($1) and decided_at is null`;

/** Counts the activations that `endActivations` would end. */
export async function countDueActivations(runner: QueryRunner, asOf: Date): Promise<number> {
  const sql = `select count(*)::integer as rows from activation
               where ended_at is null and license_id in (select id from license where ${LICENSE_IS_DUE})`;
  const { rows } = await queryOne<{ rows: number }>(runner, sql, [computeCutoff(asOf)]);
  return rows;
}

/**
 * Releases the activations of licenses whose end and the last change of this end were more than 11 months ago, because
 * no license with an active activation is deleted. The holder gets no mail, because the application stopped with the
 * license.
 * @param asOf the time that decides what is due; callers pass none after `now`, so that no activation ends early
 * @param now the time that is stored
 * @returns the number of due activations; another transaction may have released some of them before this one could
 */
export async function endActivations(runner: QueryRunner, asOf: Date, now: Date): Promise<number> {
  for (let due = 0; ;) {
    const batch = await runner.manager.transaction((manager) => endBatch(manager, asOf, now));
    due += batch;
    if (batch < ACTIVATION_BATCH_ROWS) return due;
  }
}

async function endBatch(manager: EntityManager, asOf: Date, now: Date): Promise<number> {
  const ids = await queryIds(manager, SELECT_DUE_ACTIVATIONS, [computeCutoff(asOf)]);
  await execute(manager, SET_RELEASE_REASON);
  const endedActivations = await queryRows<{ id: string; license_id: string }>(manager, END_ACTIVATIONS, [
    ids,
    now,
  ]);
  await execute(manager, DECIDE_RELEASE_REQUESTS, [ids, now]);
  for (const { id: activation_id, license_id } of endedActivations) {
    const change = { activation_id };
    await recordAudit(manager, RETENTION_AUDIT, {
      action: 'activation.release',
      license_id,
      change,
      at: now,
    });
  }
  return ids.length;
}

const computeCutoff = (asOf: Date) => firstDayKept(asOf, KEPT_MONTHS.activation_of_ended_license);
