import { EntityManager, QueryRunner } from 'typeorm';
import { recordAudit } from '../audit/audit.js';
import { firstDayKept } from './cutoff.js';
import { LICENSE_KEPT_FROM } from '../licenses/license-end.js';

/** A month before its license leaves, so that a wrong run is noticed and the license corrected while it is there. */
const MONTHS_AFTER_LICENSE_END = 11;
/** Activations ended by one transaction. */
const BATCH = 500;

const ACT = { actor: 'retention', reason: `The license ended ${MONTHS_AFTER_LICENSE_END} months ago.` };

const DUE = `${LICENSE_KEPT_FROM} < $1::date
  and exists (select 1 from activation a where a.license_id = license.id and a.ended_at is null)`;

// The license is locked first, as whoever activates or changes it does: one that is corrected meanwhile is left alone.
const FIND = `
  with due as (select id from license where ${DUE} limit ${BATCH} for update skip locked)
  select id from activation where license_id in (select id from due) and ended_at is null limit ${BATCH}`;
// Asked again behind the lock: one may have been released since the statement above began.
const END = `
  with ended as (update activation set ended_at = $2, ended_reason = 'released'
                 where id = any($1) and ended_at is null returning id, license_id)
  select id, license_id from ended`;
const DECIDE = `
  update release_request set decision = 'release', decided_at = $2
  where activation_id = any($1) and decided_at is null`;

/** How many activations `endActivations` would end. */
export async function countEnding(runner: QueryRunner, asOf: Date): Promise<number> {
  const sql = `select count(*)::integer as rows from activation
               where ended_at is null and license_id in (select id from license where ${DUE})`;
  const [counted] = (await runner.query(sql, [boundary(asOf)])) as { rows: number }[];
  return counted!.rows;
}

/**
 * Releases the activations of licenses that ended 11 months ago: no license is deleted with one that never ended. The
 * holder gets no mail, because the application stopped when the license ended.
 * @param asOf never in the future: what is active is not ended ahead of time @returns how many
 */
export async function endActivations(runner: QueryRunner, asOf: Date, now: Date): Promise<number> {
  for (let all = 0; ;) {
    const batch = await runner.manager.transaction((manager) => endBatch(manager, asOf, now));
    all += batch;
    if (batch < BATCH) return all;
  }
}

async function endBatch(manager: EntityManager, asOf: Date, now: Date): Promise<number> {
  const due = (await manager.query(FIND, [boundary(asOf)])) as { id: string }[];
  const ids = due.map(({ id }) => id);
  const ended = (await manager.query(END, [ids, now])) as { id: string; license_id: string }[];
  await manager.query(DECIDE, [ids, now]);
  for (const { id: activation_id, license_id } of ended) {
    const change = { activation_id };
    await recordAudit(manager, ACT, { action: 'activation.release', license_id, change, at: now });
  }
  return ids.length;
}

const boundary = (asOf: Date) => firstDayKept(asOf, MONTHS_AFTER_LICENSE_END);
