import { Injectable } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import { v7 as uuidv7, validate as isUuid } from 'uuid';
import { recordAudit, type AuditContext } from '../audit/audit.js';
import { Clock, DAY_MS, utcDay } from '../core/clock.js';
import { Config } from '../core/config.js';
import { DatabaseUrl, withMaintenanceConnection } from '../database/data-source.js';
import { isTimeCertain, TimeUncertain, databaseTime } from '../database/database-clock.js';
import { execute, queryIds, queryOne, queryRow, queryRows, type SqlConnection } from '../database/sql.js';
import { MAX_LISTED_REQUESTS } from '../fields/max-listed-requests.js';
import { problem } from '../http/problems/problem.js';
import type { Erasure } from '../http/responses/api-types.js';
import { addJob } from '../mail/jobs.js';
import { enqueueMail } from '../mail/mail.service.js';
import {
  erasePersonalData,
  deleteAddressData,
  lockPersonalData,
  timeOfReturn,
  type RowIds,
} from './erase.js';
import { clearErasedAddress, findErasedAddresses } from './erased-addresses.js';
import { ErasureRecords } from './erasure-records.js';
import {
  CANCELLATION_PERIOD_DAYS,
  toErasureView,
  IS_WAITING,
  SELECT_ERASURES,
  type ErasureRow,
} from './erasure.view.js';
import {
  blocksById,
  isAboutAddress,
  toRequestIds,
  type RecordedErasures,
  type ErasedIds,
} from './erased-ids.js';
import { excludeReassigned, findKnownErasures, reapplyErasures } from './restored-data.js';

/** The name of the job that carries out a request. */
export const ERASURE_TASK = 'erasure';
/** The delay after which a job that found the time uncertain is tried again. */
const TIME_UNCERTAIN_RETRY_MS = 10 * 60_000;

/** The origin of an erasure request, in the payload of its job. */
interface JobOrigin {
  /** Of the holder's page, for the receipt. */
  readonly language?: string | undefined;
  /** `staff` if they made the request, or made that of a holder due at once; otherwise absent. */
  readonly asked_by?: string | undefined;
}

/**
 * Erasure requests: creates, cancels and carries them out, and repeats them after the restore of a backup.
 * The file is long, because these operations share the same state changes.
 */
@Injectable()
export class ErasureService {
  /**
   * The blocks that `loadRecords` last read from TOMBSTONE_FILE, by the ids of their purchases and licenses. Undefined before its
   * first call.
   */
  #blocksById: ReadonlyMap<string, readonly ErasedIds[]> | undefined;

  constructor(
    private readonly dataSource: DataSource,
    private readonly databaseUrl: DatabaseUrl,
    private readonly clock: Clock,
    private readonly config: Config,
    private readonly records: ErasureRecords,
  ) {}

  /**
   * Requests the erasure of all data about an e-mail address: due at once for staff, after three days for the holder. If a
   * request for this address waits already, that request is returned; staff make it due at once.
   * @param email in the form of `canonicalEmail`
   * @param audit the staff member and the reason; undefined for the holder
   * @throws Problem `unavailable` for a holder while the time is uncertain, because the three days would be uncertain too
   */
  async request(email: string, audit?: AuditContext): Promise<Erasure> {
    return this.dataSource.transaction((manager) => this.createRequest(manager, email, audit));
  }

  /**
   * Requests the erasure for a signed-in holder.
   * @param language of the holder's page, for both mails about the request
   * @throws Problem `sign_in_required` if the session has ended, `unavailable` as `request`
   */
  async requestInSession(email: string, session_id: string, language?: string): Promise<Erasure> {
    return this.dataSource.transaction(async (manager) => {
      const request = await this.createRequest(manager, email, undefined, language);
      // The session is checked last: a concurrent erasure deletes it, and the address must not be stored again after that.
      const sql = 'select 1 from session where id = $1';
      if (!(await queryRow(manager, sql, [session_id]))) throw problem('sign_in_required');
      return request;
    });
  }

  private async createRequest(
    manager: EntityManager,
    email: string,
    audit?: AuditContext,
    language?: string,
  ): Promise<Erasure> {
    // The job queue uses the clock of the database. If the clock of the service were behind it, the job would run before the three
    // days are over.
    const now = this.clock.now();
    if (!audit && !(await isTimeCertain(this.clock, manager, now))) throw problem('unavailable');
    await this.repeatLostCancellation(manager, email);
    const newId = uuidv7();
    const runs_at = audit ? now : new Date(now.getTime() + CANCELLATION_PERIOD_DAYS * DAY_MS);
    const request = await queryOne<Pick<ErasureRow, 'id' | 'runs_at'>>(
      manager,
      `insert into erasure_request as r (id, email, asked_by, reason, received_on, runs_at) values ($1, $2, $3, $4, $5, $6)
       on conflict (email) do update set runs_at = least(r.runs_at, excluded.runs_at) returning id, runs_at`,
      [newId, email, audit ? 'staff' : 'holder', audit?.reason ?? null, utcDay(now), runs_at],
    );
    const { id, runs_at: requestRunsAt } = request;
    // The job of a due request gets no time, so that the clock of the database cannot delay it.
    const runAt = requestRunsAt > now ? requestRunsAt : undefined;
    await queueErasure(manager, id, { language, asked_by: audit && 'staff' }, runAt);
    if (audit)
      await recordAudit(manager, audit, { action: 'erasure.request', change: { erasure_id: id }, at: now });
    // If a request waited already, no mail is sent: it was sent before, or staff made that request, which is due at once.
    else if (id === newId) await enqueueMail(manager, 'erasure_requested', id, now, { language });
    return this.read(manager, id);
  }

  /**
   * Cancels the waiting request for an address again if TOMBSTONE_FILE records it as cancelled: the commit of its cancellation
   * failed or was lost. A new request that is merged with it would be cancelled too (`run`).
   */
  private async repeatLostCancellation(manager: EntityManager, email: string): Promise<void> {
    const sql = 'select id from erasure_request where email = $1 for update';
    const waiting = await queryIds(manager, sql, [email]);
    if (waiting.length === 0) return;
    const { cancelled } = await this.records.read(manager);
    const lost = waiting.filter((id) => cancelled.includes(id));
    await this.cancelWaiting(manager, lost);
  }

  /** Cancels a waiting request. @throws Problem `not_found` if no request with this id waits */
  async cancel(id: string): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      if ((await this.cancelWaiting(manager, [id])) === 0) throw problem('not_found');
      await this.records.recordCancelled(manager, id);
    });
  }

  /** Cancels the requests with these ids that wait. @returns the number of cancelled requests */
  private async cancelWaiting(manager: EntityManager, ids: readonly string[]): Promise<number> {
    const cancelled = await queryIds(
      manager,
      `update erasure_request set email = null, cancelled_at = $2 where id = any($1) and ${IS_WAITING} returning id`,
      [ids, this.clock.now()],
    );
    const sql = 'select graphile_worker.remove_job(key) from unnest($1::text[]) key';
    await execute(manager, sql, [cancelled.map(toJobKey)]);
    return cancelled.length;
  }

  /**
   * Carries a request out now, also before it is due. A request that is carried out or cancelled is not changed. A request that
   * waits and that TOMBSTONE_FILE records as cancelled is cancelled again: an asynchronous failover lost its cancellation, and an
   * erasure could not be undone. @throws Problem `not_found`
   */
  async run(id: string, audit?: AuditContext): Promise<Erasure> {
    if (!isUuid(id)) throw problem('not_found');
    return this.inMaintenanceTransaction(async (manager) => {
      // The lock timeout is short, because the job or the caller tries again.
      await execute(manager, "set local lock_timeout = '800ms'");
      const sql = 'select email from erasure_request where id = $1 for update';
      const locked = await queryRow<{ email: string | null }>(manager, sql, [id]);
      if (!locked) throw problem('not_found');
      // Only a waiting request has an address.
      if (locked.email !== null) {
        const { cancelled } = await this.records.read(manager);
        if (cancelled.includes(id)) await this.cancelWaiting(manager, [id]);
        else await this.carryOut(manager, id, locked.email, audit);
      }
      return this.read(manager, id);
    });
  }

  /**
   * Carries a request out for its job. The job of a holder's request is queued again if the request is not due or the
   * time is uncertain. A request that staff made, or made due at once, is carried out at once.
   */
  async runQueued(id: string, { language, asked_by }: JobOrigin): Promise<void> {
    const isPostponed =
      asked_by !== 'staff' &&
      (await this.dataSource.transaction((manager) => this.postpone(manager, id, language)));
    if (!isPostponed) await this.run(id);
  }

  /**
   * Queues a new job for a holder's request that is not due, or while the time is uncertain.
   * @returns whether a job was queued
   */
  private async postpone(manager: EntityManager, id: string, language?: string): Promise<boolean> {
    // The lock prevents a concurrent cancellation from leaving a job without a waiting request.
    const sql = `select runs_at from erasure_request where id = $1 and ${IS_WAITING} for update`;
    const request = await queryRow<Pick<ErasureRow, 'runs_at'>>(manager, sql, [id]);
    if (!request) return false;
    const now = this.clock.now();
    const remainingMs = request.runs_at.getTime() - now.getTime();
    const isCertain = await isTimeCertain(this.clock, manager, now);
    if (isCertain && remainingMs <= 0) return false;
    // The queue uses the clock of the database. A job that is added under the key of a running job does not replace that job.
    const delayMs = isCertain ? remainingMs : TIME_UNCERTAIN_RETRY_MS;
    const runAt = new Date((await databaseTime(manager)).getTime() + delayMs);
    await queueErasure(manager, id, { language }, runAt);
    return true;
  }

  /**
   * Carries out all requests that are due. A request that fails does not delay the others.
   * @returns the requests that `run` carried out or cancelled, and the errors of the others
   * @throws TimeUncertain
   */
  async runDue(audit?: AuditContext): Promise<{ completed: Erasure[]; errors: unknown[] }> {
    const now = this.clock.now();
    if (!(await isTimeCertain(this.clock, this.dataSource, now))) throw new TimeUncertain();
    const sql = `select id from erasure_request where ${IS_WAITING} and runs_at <= $1 order by runs_at`;
    const completed: Erasure[] = [];
    const errors: unknown[] = [];
    for (const id of await queryIds(this.dataSource, sql, [now]))
      await this.run(id, audit).then(
        (erasure) => completed.push(erasure),
        (error) => errors.push(error),
      );
    return { completed, errors };
  }

  /**
   * Lists at most `MAX_LISTED_REQUESTS`: waiting requests by the day of receipt, the oldest first, then finished and cancelled
   * requests, the newest first.
   */
  async list(): Promise<Erasure[]> {
    const order = `order by ${IS_WAITING} desc, case when ${IS_WAITING} then received_on end, id desc limit ${MAX_LISTED_REQUESTS}`;
    const rows = await queryRows<ErasureRow>(this.dataSource, `${SELECT_ERASURES} ${order}`);
    return rows.map((row) => toErasureView(row, this.clock.now()));
  }

  /**
   * Repeats after a restore the erasures that TOMBSTONE_FILE records, by the erased ids and by the hash of each address. A
   * recorded request that still waits, after a crash or a restore, is completed too, and its receipt may be sent twice. A
   * waiting request that was received before the day of a recorded erasure of its address is completed as well. A request that was
   * cancelled after the backup is cancelled again.
   */
  async replay(): Promise<void> {
    // The time limits of requests do not apply here: a slow database must not prevent a start.
    await this.inMaintenanceTransaction(async (manager) => {
      const { erased, cancelled } = await this.loadRecords(manager);
      if (erased.length + cancelled.length === 0) return;
      const now = this.clock.now();
      await this.cancelWaiting(manager, cancelled);
      const hash = (email: string) => this.records.hashAddress(email);
      const isKnown = await findKnownErasures(manager, erased);
      await reapplyErasures(manager, erased, hash, isKnown, now, this.config.taxRetentionYears);
      const addresses = await findErasedAddresses(manager, erased, hash, isKnown, now);
      for (const address of addresses) await clearErasedAddress(manager, address, now);
      const openRequests = await queryRows<{ id: string; email: string }>(
        manager,
        `select id, email from erasure_request r where email is not null and (id = any($1) or exists
           (select 1 from unnest($2::text[], $3::timestamptz[]) as erased (email, at)
            where erased.email = r.email and ${timeOfReturn('r.received_on', '$4')} < erased.at::date))
         for update`,
        [toRequestIds(erased), addresses.map(({ email }) => email), addresses.map(({ at }) => at), now],
      );
      for (const { id, email } of openRequests) {
        const recordedIds = toRowIds(erased.filter(({ erasure_request }) => erasure_request.includes(id)));
        const rowIds = await excludeReassigned(manager, recordedIds);
        await this.complete(manager, id, email, rowIds, now);
      }
    });
  }

  /**
   * Whether TOMBSTONE_FILE contained one of these purchases or licenses at the start, or when the primary moved. A restored backup
   * may lack the row, and a repeated purchase report would create it again. Later erasures are in the database.
   */
  async wasErased(...ids: string[]): Promise<boolean> {
    const blocks = await this.recordedBlocks();
    return ids.some((id) => blocks.has(id));
  }

  /** Whether `wasErased` is true of a purchase because of this address (`isAboutAddress`). */
  async wasErasedFor(email: string, purchaseId: string): Promise<boolean> {
    const blocks = (await this.recordedBlocks()).get(purchaseId) ?? [];
    return blocks.some((block) => isAboutAddress(block, this.records.hashAddress(email)));
  }

  private async recordedBlocks(): Promise<ReadonlyMap<string, readonly ErasedIds[]>> {
    if (!this.#blocksById) await this.loadRecords(this.dataSource);
    return this.#blocksById!;
  }

  private async loadRecords(database: SqlConnection): Promise<RecordedErasures> {
    const records = await this.records.read(database);
    this.#blocksById = blocksById(records.erased, ({ license, purchase }) => [...license, ...purchase]);
    return records;
  }

  // The license of a company may have thousands of activations, whose erasure exceeds the time limit of request connections.
  private async inMaintenanceTransaction<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    return withMaintenanceConnection(this.databaseUrl.value, (dataSource) => dataSource.transaction(work));
  }

  /** Erases the data of a locked request, completes the request and records the erasure in TOMBSTONE_FILE. */
  private async carryOut(
    manager: EntityManager,
    id: string,
    email: string,
    audit?: AuditContext,
  ): Promise<void> {
    const now = this.clock.now();
    const rowIds = await lockPersonalData(manager, email, now);
    await this.complete(manager, id, email, rowIds, now);
    if (audit)
      await recordAudit(manager, audit, { action: 'erasure.run', change: { erasure_id: id }, at: now });
    // This is the last write before the commit: if the file cannot be written, the transaction is rolled back and tried again.
    const { licenses: license, purchases: purchase } = rowIds;
    await this.records.recordErased(manager, { id, email, at: now }, { license, purchase });
  }

  /** Erases these rows and the data of the address, stores the result, removes the job and enqueues the receipt. */
  private async complete(
    manager: EntityManager,
    id: string,
    email: string,
    rowIds: RowIds,
    at: Date,
  ): Promise<void> {
    const erased = await erasePersonalData(manager, rowIds, at, this.config.taxRetentionYears);
    await deleteAddressData(manager, [email]);
    await execute(
      manager,
      'update erasure_request set email = null, honoured_at = $2, erased = $3 where id = $1',
      [id, at, erased],
    );
    // The job has the language of the page on which the holder requested the erasure, also if another caller carries it out.
    const { language } = await removeJob(manager, id);
    await enqueueMail(manager, 'erasure_receipt', id, at, { to: email, language });
  }

  private async read(manager: EntityManager, id: string): Promise<Erasure> {
    const row = await queryOne<ErasureRow>(manager, `${SELECT_ERASURES} where id = $1`, [id]);
    return toErasureView(row, this.clock.now());
  }
}

const toRowIds = (erased: readonly ErasedIds[]): RowIds => ({
  licenses: erased.flatMap(({ license }) => license),
  purchases: erased.flatMap(({ purchase }) => purchase),
});

const toJobKey = (id: string) => `erasure ${id}`;

/** Removes the job of a request, if there is one. @returns its payload */
async function removeJob(manager: EntityManager, id: string): Promise<JobOrigin> {
  const sql = 'select payload from graphile_worker.remove_job($1)';
  const { payload } = await queryOne<{ payload: JobOrigin | null }>(manager, sql, [toJobKey(id)]);
  return payload ?? {};
}

/**
 * Queues the job of a request, in place of an earlier one. It keeps the language of the earlier one if none is given, as by staff,
 * and it runs at once if staff asked for it or for the earlier one.
 */
async function queueErasure(
  manager: EntityManager,
  id: string,
  origin: JobOrigin,
  runAt: Date | undefined,
): Promise<void> {
  const earlier = await removeJob(manager, id);
  const language = origin.language ?? earlier.language;
  const asked_by = origin.asked_by ?? earlier.asked_by;
  const payload = { erasure_id: id, language, asked_by };
  await addJob(manager, ERASURE_TASK, payload, {
    key: toJobKey(id),
    runAt: asked_by === 'staff' ? undefined : runAt,
  });
}
