import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import { execute, queryRow } from '../database/sql.js';
import type { Language } from '../languages/language.js';
import { Languages } from '../languages/languages.service.js';
import { JobWorker, type JobPool } from './job-worker.js';
import { addJob, type JobPayload } from './jobs.js';
import type { MailMessage } from './mail-message.js';
import { Mailer } from './mailer.js';

/** The name of a task that sends mails is this prefix and the kind of mail. */
export const MAIL_TASK_PREFIX = 'mail_';

interface MailOptions {
  /**
   * The recipient, for a mail whose address may be deleted from all other rows before it is sent. `mail_recipient` stores the
   * address until then.
   */
  readonly to?: string;
  /**
   * Whether the mail is sent before others of its worker pool. A mail that every client can request must not be urgent, because
   * such mails could delay all others.
   */
  readonly isUrgent?: boolean;
  /** The tag of the language of the page on which the recipient caused the mail; the default is MAIL_LANGUAGE. */
  readonly language?: string | undefined;
}

/**
 * Enqueues a mail in the caller's transaction. Without `to` it replaces a waiting mail of the same kind with the same
 * `about`.
 * @param kind a kind that was registered with `MailService.register`
 * @param about the id of the row that the mail is about, such as a license; operators see it for failing mails
 * @param at the current time, which is stored with the recipient `to`; without `to` it is not used
 */
export async function enqueueMail(
  manager: EntityManager,
  kind: string,
  about: string,
  at: Date,
  { to, isUrgent, language }: MailOptions = {},
): Promise<void> {
  const mail_id = randomUUID();
  if (to !== undefined) {
    const sql = 'insert into mail_recipient (mail_id, email, since) values ($1, $2, $3)';
    await execute(manager, sql, [mail_id, to, at]);
  }
  const key = `${kind} ${about}${to === undefined ? '' : ` ${mail_id}`}`;
  await addJob(
    manager,
    MAIL_TASK_PREFIX + kind,
    { mail_id, about, ...(language !== undefined && { language }) },
    { key, ...(isUrgent && { priority: -1 }) },
  );
}

/** The priority of mails that were queued in large numbers: after all others, because jobs with a lower number run first. */
export const BULK_PRIORITY = 1;
const ENQUEUE_MAILS = `
  select count(*) from graphile_worker.add_jobs(array(
    select row($1, json_build_object('mail_id', mail_id, 'about', about), null, run_at, null, $2 || ' ' || about, ${BULK_PRIORITY}, null)
      ::graphile_worker.job_spec
    from unnest($3::uuid[], $4::uuid[], $5::timestamptz[]) as mail (about, mail_id, run_at)))`;

/**
 * Enqueues many mails of a kind in the caller's transaction, each with a time before which it is not sent. Any other mail that is
 * due is sent first.
 * @param kind as in `enqueueMail` @param mails what each mail is about, as in `enqueueMail`, and its time
 */
export async function enqueueMails(
  manager: EntityManager,
  kind: string,
  mails: readonly { readonly about: string; readonly runAt: Date }[],
): Promise<void> {
  if (mails.length === 0) return;
  const [abouts, times] = [mails.map(({ about }) => about), mails.map(({ runAt }) => runAt)];
  const ids = mails.map(() => randomUUID());
  await execute(manager, ENQUEUE_MAILS, [MAIL_TASK_PREFIX + kind, kind, abouts, ids, times]);
}

/** How the mails of a kind are sent. */
interface MailKindOptions {
  /** The worker pool; the default is `main`. */
  readonly pool?: JobPool;
  /** The time limit for one attempt to deliver; the default is one minute. */
  readonly timeoutMs?: number;
  /** Whether the recipients are staff: the mail is in English, as the support page is, and names no support contact. */
  readonly isForStaff?: boolean;
}

/** Sends the enqueued mails. Other modules register their kinds of mail. */
@Injectable()
export class MailService {
  constructor(
    private readonly jobs: JobWorker,
    private readonly mailer: Mailer,
    private readonly languages: Languages,
    private readonly dataSource: DataSource,
  ) {}

  /**
   * Registers a kind of mail.
   * @param compose composes the mail from the current state when it is sent, or returns null if it is no longer needed
   */
  register(
    kind: string,
    compose: (about: string, language: Language) => Promise<MailMessage | null>,
    { pool, timeoutMs, isForStaff = false }: MailKindOptions = {},
  ): void {
    const send = async ({ mail_id, about, language: tag }: JobPayload, signal: AbortSignal) => {
      const storedRecipient = await this.findStoredRecipient(mail_id!);
      const language = isForStaff ? this.languages.english : this.languages.find(tag);
      const message = await compose(about!, language);
      const to = storedRecipient ?? message?.to;
      const options = { signal, timeoutMs, language, isForStaff };
      if (message && to) await this.mailer.deliver(mail_id!, to, message, options);
      if (storedRecipient)
        await execute(this.dataSource, 'delete from mail_recipient where mail_id = $1', [mail_id]);
    };
    this.jobs.register(MAIL_TASK_PREFIX + kind, send, pool);
  }

  private async findStoredRecipient(mailId: string): Promise<string | undefined> {
    const sql = 'select email from mail_recipient where mail_id = $1';
    const row = await queryRow<{ email: string }>(this.dataSource, sql, [mailId]);
    return row?.email;
  }
}
