import type { DataSource, EntityManager } from 'typeorm';
import { recordAudit, type AuditContext } from '../audit/audit.js';
import { queryIds, queryOne, type SqlConnection } from '../database/sql.js';
import { IMPORTED_KEY_MAIL } from '../licenses/license-mails.js';
import { LICENSE_STATUS } from '../licenses/license-status.js';
import { enqueueMails, MAIL_TASK_PREFIX } from '../mail/mail.service.js';

/** The number of licenses whose mails one transaction queues. */
const BATCH_LICENSES = 1_000;

/** The times of the mails with new keys, which are spread so that the mail server accepts them and other mails are not delayed. */
export class KeyMailSchedule {
  #next: number;

  /** @param start the time one interval before the first mail @param perMinute how many mails are sent in a minute */
  constructor(
    start: Date,
    private readonly perMinute: number,
  ) {
    this.#next = start.getTime();
  }

  /** Continues behind the mails with new keys that are queued already, so that a second import does not double the pace. */
  static async after(database: SqlConnection, now: Date, perMinute: number): Promise<KeyMailSchedule> {
    // The time of a mail that failed is that of its next attempt, which may be hours later.
    const sql =
      'select max(run_at) as last from graphile_worker.jobs where task_identifier = $1 and attempts = 0';
    const { last } = await queryOne<{ last: Date | null }>(database, sql, [
      MAIL_TASK_PREFIX + IMPORTED_KEY_MAIL,
    ]);
    return new KeyMailSchedule(last && last > now ? last : now, perMinute);
  }

  /** Queues the mails of these licenses in the caller's transaction. */
  async enqueue(manager: EntityManager, licenseIds: readonly string[]): Promise<void> {
    const mails = licenseIds.map((about) => {
      this.#next += 60_000 / this.perMinute;
      return { about, runAt: new Date(this.#next) };
    });
    await enqueueMails(manager, IMPORTED_KEY_MAIL, mails);
  }
}

// The licenses whose new key should be mailed (as `shouldMailNewKey` decides for a row), and was neither queued as a mail nor
// replaced. The lateral join gives `p.state` the name that LICENSE_STATUS reads.
const TO_MAIL = `
  select l.id from license l left join purchase p on p.id = l.purchase_id
  cross join lateral (select p.state as purchase_state) purchase
  where l.previous_key_hash is not null and l.new_key_mailed_at is null and l.email is not null and l.key_generation = 1
    and ${LICENSE_STATUS} = 'active' and not (l.on_expiry = 'stop' and coalesce(l.expires_at <= $1, false))`;
const MARK_MAILED = `update license set new_key_mailed_at = $1 where id in (
  ${TO_MAIL} order by l.id limit ${BATCH_LICENSES} for update of l skip locked) returning id`;

/** Counts the imported licenses whose new key was not mailed, and which can be used. */
export async function countKeysToMail(dataSource: DataSource, now: Date): Promise<number> {
  const sql = `select count(*)::integer as licenses from (${TO_MAIL}) to_mail`;
  return (await queryOne<{ licenses: number }>(dataSource, sql, [now])).licenses;
}

/**
 * Queues the mails with the new keys of imported licenses, in batches of one transaction each: an interrupted run is continued by
 * the next one, and no mail is queued twice.
 * @returns the number of mails
 */
export async function mailImportedKeys(
  dataSource: DataSource,
  schedule: KeyMailSchedule,
  audit: AuditContext,
  now: Date,
): Promise<number> {
  for (let mails = 0; ;) {
    const added = await dataSource.transaction(async (manager) => {
      const licenses = await queryIds(manager, MARK_MAILED, [now]);
      await schedule.enqueue(manager, licenses);
      const change = { mails: licenses.length };
      if (change.mails > 0)
        await recordAudit(manager, audit, { action: 'license.send_keys', change, at: now });
      return change.mails;
    });
    if (added === 0) return mails;
    mails += added;
  }
}
