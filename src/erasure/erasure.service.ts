import { Injectable } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import { v7 as uuidv7, validate as isUuid } from 'uuid';
import { recordAudit, type AuditContext } from '../audit/audit.js';
import { Clock, DAY_MS, utcDay } from '../core/clock.js';
import { Config } from '../core/config.js';
import { DatabaseUrl, withMaintenanceConnection } from '../database/data-source.js';
import { clocksAgree, ClocksDiffer, databaseTime } from '../database/database-clock.js';
import { problem } from '../http/problems/problem.js';
import { addJob } from '../mail/jobs.js';
import { enqueueMail } from '../mail/mail.service.js';
import {
  eraseAgain,
  erasePersonalData,
  deleteAddressData,
  lockPersonalData,
  withoutOtherHolders,
  type Erased,
  type PersonalData,
} from './erase.js';
import { clearErasedAddress, findErasedAddresses } from './erased-addresses.js';
import { ErasureRecords } from './erasure-records.js';
import { COOLING_DAYS, erasureView, OPEN, READ, type ErasureView, type Row } from './erasure.view.js';
import type { RecordedErasure, ErasedIds } from './erased-ids.js';

export const ERASURE_TASK = 'erasure';
/** A job that finds the clocks to differ looks again after this. */
const CLOCKS_DIFFER_RETRY_MS = 10 * 60_000;

/**
 * Deletion requests: asked, taken back, carried out, and carried out again where a restored backup undid it. Over 200 lines,
 * because each of these ends the same requests in the same way.
 */
@Injectable()
export class ErasureService {
  #erasedBefore: ReadonlySet<string> | undefined;

  constructor(
    private readonly dataSource: DataSource,
    private readonly databaseUrl: DatabaseUrl,
    private readonly clock: Clock,
    private readonly config: Config,
    private readonly records: ErasureRecords,
  ) {}

  /**
   * Asks for everything about an e-mail address to be erased: at once where staff ask, in three days where the holder
   * does. One that waits already is the same one, and staff may bring it forward.
   * @param email as `canonicalEmail` gives it @param act who of staff asks; none means the holder
   * @throws Problem `unavailable` where it is not certain when the three days are over
   */
  async request(email: string, act?: AuditContext): Promise<ErasureView> {
    return this.dataSource.transaction((manager) => this.ask(manager, email, act));
  }

  /** The same for a holder whose session this is. @throws Problem `sign_in_required` where it ended meanwhile */
  async requestInSession(email: string, session_id: string): Promise<ErasureView> {
    return this.dataSource.transaction(async (manager) => {
      const asked = await this.ask(manager, email);
      // Asked last: behind an erasure that ran meanwhile, which took the session, the address must not come back.
      const sql = 'select 1 from session where id = $1';
      const held = (await manager.query(sql, [session_id])) as unknown[];
      if (held.length === 0) throw problem('sign_in_required');
      return asked;
    });
  }

  private async ask(manager: EntityManager, email: string, act?: AuditContext): Promise<ErasureView> {
    // By a clock that is behind, the three days would be over for the database, whose clock the job goes by.
    if (!act && !(await clocksAgree(this.clock, manager))) throw problem('unavailable');
    const wanted = uuidv7();
    const now = this.clock.now();
    const runs_at = act ? now : new Date(now.getTime() + COOLING_DAYS * DAY_MS);
    const [asked] = (await manager.query(
      `insert into erasure_request as r (id, email, asked_by, reason, received_on, runs_at) values ($1, $2, $3, $4, $5, $6)
       on conflict (email) do update set runs_at = least(r.runs_at, excluded.runs_at) returning id, runs_at`,
      [wanted, email, act ? 'staff' : 'holder', act?.reason ?? null, utcDay(now), runs_at],
    )) as Pick<Row, 'id' | 'runs_at'>[];
    const { id } = asked!;
    // What is due waits for no clock, whichever of ours and the database's is ahead.
    const runAt = asked!.runs_at > now ? asked!.runs_at : undefined;
    await addJob(manager, ERASURE_TASK, { erasure_id: id }, { key: jobKey(id), runAt });
    if (act)
      await recordAudit(manager, act, { action: 'erasure.request', change: { erasure_id: id }, at: now });
    // One that waits was told before, or is staff's: that one cannot be taken back for three days.
    else if (id === wanted) await enqueueMail(manager, 'erasure_requested', id, now);
    return this.read(manager, id);
  }

  /** Takes back a holder's request while it waits. @throws Problem `not_found` */
  async takeBack(id: string): Promise<void> {
    if (!isUuid(id)) throw problem('not_found');
    await this.dataSource.transaction(async (manager) => {
      if ((await this.cancel(manager, [id])) === 0) throw problem('not_found');
      await this.records.writeTakenBack(manager, id);
    });
  }

  /** Those of these requests that wait do so no more. @returns how many did */
  private async cancel(manager: EntityManager, ids: readonly string[]): Promise<number> {
    const [waited] = (await manager.query(
      `update erasure_request set email = null, cancelled_at = $2 where id = any($1) and ${OPEN} returning id`,
      [ids, this.clock.now()],
    )) as [{ id: string }[], number];
    const keys = waited.map(({ id }) => jobKey(id));
    await manager.query('select graphile_worker.remove_job(key) from unnest($1::text[]) key', [keys]);
    return waited.length;
  }

  /** Carries a request out now; one that has ended stays as it ended. @throws Problem `not_found` */
  async run(id: string, act?: AuditContext): Promise<ErasureView> {
    if (!isUuid(id)) throw problem('not_found');
    return this.patiently(async (manager) => {
      // It is tried again, so it waits for nobody long.
      await manager.query("set local lock_timeout = '800ms'");
      const locked = (await manager.query('select email from erasure_request where id = $1 for update', [
        id,
      ])) as { email: string | null }[];
      if (locked.length === 0) throw problem('not_found');
      const { email } = locked[0]!;
      if (email !== null) await this.carryOut(manager, id, email, act);
      return this.read(manager, id);
    });
  }

  /**
   * Carries a request out for its job: one of staff at once, a holder's under the conditions of `runDue`. Where they do not
   * hold, the job is queued again: it came too early, or one of the clocks is wrong.
   */
  async runQueued(id: string): Promise<void> {
    if (!isUuid(id)) throw problem('not_found');
    const isPostponed = await this.dataSource.transaction((manager) => this.postpone(manager, id));
    if (!isPostponed) await this.run(id);
  }

  /** @returns whether it is not certain that the time of a holder's request has come; then a new job is queued */
  private async postpone(manager: EntityManager, id: string): Promise<boolean> {
    // Locked, so that a request that is taken back meanwhile leaves no job behind.
    const sql = `select runs_at from erasure_request where id = $1 and asked_by = 'holder' and ${OPEN} for update`;
    const [request] = (await manager.query(sql, [id])) as Pick<Row, 'runs_at'>[];
    if (!request) return false;
    const early = request.runs_at.getTime() - this.clock.now().getTime();
    const isTimeCertain = await clocksAgree(this.clock, manager);
    if (isTimeCertain && early <= 0) return false;
    // The queue goes by the database's clock. A job under the key of one that runs is a new one, with all its tries.
    const wait = isTimeCertain ? early : CLOCKS_DIFFER_RETRY_MS;
    const runAt = new Date((await databaseTime(manager)).getTime() + wait);
    await addJob(manager, ERASURE_TASK, { erasure_id: id }, { key: jobKey(id), runAt });
    return true;
  }

  /**
   * Carries out every request whose time has come.
   * @returns those that were @throws ClocksDiffer where it is not certain what time it is
   */
  async runDue(act?: AuditContext): Promise<ErasureView[]> {
    if (!(await clocksAgree(this.clock, this.dataSource))) throw new ClocksDiffer();
    const sql = `select id from erasure_request where ${OPEN} and runs_at <= $1 order by runs_at`;
    const due = (await this.dataSource.query(sql, [this.clock.now()])) as { id: string }[];
    const done: ErasureView[] = [];
    const failed: unknown[] = [];
    // One that cannot be carried out keeps none of the others waiting.
    for (const { id } of due)
      await this.run(id, act).then(
        (ended) => done.push(ended),
        (error) => failed.push(error),
      );
    if (failed.length > 0) throw failed[0];
    return done;
  }

  /** Those that wait, the most urgent first; then those that ended, the newest first. */
  async list(): Promise<ErasureView[]> {
    const order = `order by ${OPEN} desc, case when ${OPEN} then received_on end, id desc limit 500`;
    const rows = (await this.dataSource.query(`${READ} ${order}`)) as Row[];
    return rows.map((row) => erasureView(row, this.clock.now()));
  }

  /**
   * After a restore: erases again what the tombstones name, and erased addresses wherever else they came back. A request
   * that waits here although it was written down was cut short, or is a backup's: it is over too, and its receipt rather
   * comes twice than never. One that was taken back since the backup waits no more.
   * @returns how many rows had come back
   */
  async replay(): Promise<number> {
    const { erased, taken_back } = await this.readBuried();
    if (erased.length + taken_back.length === 0) return 0;
    const now = this.clock.now();
    const { taxRetentionYears } = this.config;
    return this.patiently(async (manager) => {
      let rows = await this.cancel(manager, taken_back);
      rows += await eraseAgain(manager, erased, now, taxRetentionYears);
      const hash = (email: string) => this.records.hash(email);
      const addresses = await findErasedAddresses(manager, erased, hash, now);
      for (const address of addresses) rows += await clearErasedAddress(manager, address, now);
      const open = (await manager.query(
        `select id, email from erasure_request r where email is not null and (id = any($1) or exists
           (select 1 from unnest($2::text[], $3::timestamptz[]) as erased (email, at)
            where erased.email = r.email and r.received_on < erased.at::date))
         for update`,
        [
          erased.flatMap(({ erasure_request }) => erasure_request),
          addresses.map(({ email }) => email),
          addresses.map(({ at }) => at),
        ],
      )) as { id: string; email: string }[];
      for (const { id, email } of open) {
        const named = holdingsOf(erased.filter(({ erasure_request }) => erasure_request.includes(id)));
        const own = await withoutOtherHolders(manager, named);
        await this.honour(
          manager,
          id,
          email,
          await erasePersonalData(manager, own, now, taxRetentionYears),
          now,
        );
      }
      return rows + open.length;
    });
  }

  /**
   * Whether one of these purchases or licenses was erased before this process began: a restored backup may have lost the
   * row itself, which is then reported as a new one. What was erased since then is known to the database.
   */
  async wasErased(...ids: string[]): Promise<boolean> {
    if (!this.#erasedBefore) await this.readBuried();
    return ids.some((id) => this.#erasedBefore!.has(id));
  }

  private async readBuried(): Promise<RecordedErasure> {
    const buried = await this.records.read(this.dataSource);
    const { licenses, purchases } = holdingsOf(buried.erased);
    this.#erasedBefore = new Set([...licenses, ...purchases]);
    return buried;
  }

  // A company's license may have thousands of activations: more than a request's connection has the time for.
  private async patiently<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    return withMaintenanceConnection(this.databaseUrl.value, (dataSource) => dataSource.transaction(work));
  }

  private async carryOut(
    manager: EntityManager,
    id: string,
    email: string,
    act?: AuditContext,
  ): Promise<void> {
    const now = this.clock.now();
    const holdings = await lockPersonalData(manager, email);
    const erased = await erasePersonalData(manager, holdings, now, this.config.taxRetentionYears);
    await this.honour(manager, id, email, erased, now);
    if (act) await recordAudit(manager, act, { action: 'erasure.run', change: { erasure_id: id }, at: now });
    // Last, and before the commit: where it fails nothing is erased yet, and it is tried again.
    const { licenses: license, purchases: purchase } = holdings;
    await this.records.write(manager, { id, email, at: now }, { license, purchase });
  }

  private async honour(
    manager: EntityManager,
    id: string,
    email: string,
    erased: Erased,
    at: Date,
  ): Promise<void> {
    await deleteAddressData(manager, [email]);
    await manager.query(
      'update erasure_request set email = null, honoured_at = $2, erased = $3 where id = $1',
      [id, at, erased],
    );
    await manager.query('select graphile_worker.remove_job($1)', [jobKey(id)]);
    await enqueueMail(manager, 'erasure_receipt', id, at, { to: email });
  }

  private async read(manager: EntityManager, id: string): Promise<ErasureView> {
    const [row] = (await manager.query(`${READ} where id = $1`, [id])) as Row[];
    return erasureView(row!, this.clock.now());
  }
}

const holdingsOf = (buried: readonly ErasedIds[]): PersonalData => ({
  licenses: buried.flatMap(({ license }) => license),
  purchases: buried.flatMap(({ purchase }) => purchase),
});

const jobKey = (id: string) => `erasure ${id}`;
