import { Injectable } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import { v4 as uuidv4 } from 'uuid';
import { JobWorker, type JobPool } from './job-worker.js';
import { addJob, type JobIds } from './jobs.js';
import type { MailMessage } from './mail-message.js';
import { Mailer } from './mailer.js';

/** What mail jobs are called, before the kind of mail. */
export const MAIL_TASK = 'mail_';

interface MailOptions {
  /** For a mail whose recipient no row will name when it is sent; kept until then. */
  readonly to?: string;
  /** Before the other mails of its pool: a person waits for it. Not for what anyone can ask for without limit. */
  readonly urgent?: boolean;
}

/**
 * Announces something by mail, in the transaction in which it happens. The same announcement waits once.
 * @param about the id of what the mail is about, by which operators are told of it
 */
export async function enqueueMail(
  manager: EntityManager,
  kind: string,
  about: string,
  at: Date,
  { to, urgent }: MailOptions = {},
): Promise<void> {
  const mail_id = uuidv4();
  if (to !== undefined) {
    const sql = 'insert into mail_recipient (mail_id, email, since) values ($1, $2, $3)';
    await manager.query(sql, [mail_id, to, at]);
  }
  const key = `${kind} ${about}${to === undefined ? '' : ` ${mail_id}`}`;
  await addJob(manager, MAIL_TASK + kind, { mail_id, about }, { key, ...(urgent && { priority: -1 }) });
}

/** How a kind of mail is sent. */
interface MailKindOptions {
  /** The workers that send it; `main` where none is named. */
  readonly pool?: JobPool;
  /** What the mail server may take for it in all; a minute where no limit is given. */
  readonly timeoutMs?: number;
}

/** Sends what was announced. Each room registers the mails it sends; this one knows none of them. */
@Injectable()
export class MailService {
  constructor(
    private readonly jobs: JobWorker,
    private readonly mailer: Mailer,
    private readonly dataSource: DataSource,
  ) {}

  /**
   * Says how a kind of mail is written.
   * @param compose makes the letter of what it is about, from how things are when it is sent; null where there is
   * nothing to say any more
   */
  register(
    kind: string,
    compose: (about: string) => Promise<MailMessage | null>,
    { pool, timeoutMs }: MailKindOptions = {},
  ): void {
    const send = async ({ mail_id, about }: JobIds, signal: AbortSignal) => {
      const kept = await this.keptRecipient(mail_id!);
      const letter = await compose(about!);
      const to = kept ?? letter?.to;
      if (letter && to) await this.mailer.deliver(mail_id!, to, letter, { signal, timeoutMs });
      if (kept) await this.dataSource.query('delete from mail_recipient where mail_id = $1', [mail_id]);
    };
    this.jobs.register(MAIL_TASK + kind, send, pool);
  }

  private async keptRecipient(mailId: string): Promise<string | undefined> {
    const sql = 'select email from mail_recipient where mail_id = $1';
    const [row] = (await this.dataSource.query(sql, [mailId])) as { email: string }[];
    return row?.email;
  }
}
