import { Injectable, OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { readableDay } from '../core/clock.js';
import { Config } from '../core/config.js';
import { queryRow } from '../database/sql.js';
import { JobWorker } from '../mail/job-worker.js';
import type { Block, MailMessage } from '../mail/mail-message.js';
import { MailService } from '../mail/mail.service.js';
import type { ErasureResult } from './erase.js';
import { ERASURE_TASK, ErasureService } from './erasure.service.js';
import { CANCELLATION_PERIOD_DAYS } from './erasure.view.js';

/** Registers the mails about an erasure request, and the job that carries it out. */
@Injectable()
export class ErasureMails implements OnModuleInit {
  constructor(
    private readonly erasures: ErasureService,
    private readonly dataSource: DataSource,
    private readonly mail: MailService,
    private readonly jobs: JobWorker,
    private readonly config: Config,
  ) {}

  onModuleInit(): void {
    this.jobs.register(ERASURE_TASK, async ({ erasure_id }) => this.erasures.runQueued(erasure_id!));
    this.mail.register('erasure_requested', (id) => this.composeRequested(id));
    this.mail.register('erasure_receipt', (id) => this.composeReceipt(id));
  }

  private async composeRequested(id: string): Promise<MailMessage | null> {
    const sql = 'select email, runs_at from erasure_request where id = $1';
    const row = await queryRow<{ email: string | null; runs_at: Date }>(this.dataSource, sql, [id]);
    if (!row) return null;
    const product = this.config.brand.productName;
    return {
      to: row.email,
      subject: `You asked for your data with ${product} to be deleted`,
      body: [
        `We were asked to delete what we hold about you with ${product}. This ends your licenses on all machines, for good.`,
        `It happens on ${readableDay(row.runs_at)}. For ${CANCELLATION_PERIOD_DAYS} days you can take it back here:`,
        { link: `${this.config.publicUrl}/portal/` },
        'If you did not ask for this, take it back now, or answer this mail.',
      ],
    };
  }

  private async composeReceipt(id: string): Promise<MailMessage | null> {
    const sql = 'select honoured_at, erased from erasure_request where id = $1 and honoured_at is not null';
    const row = await queryRow<{ honoured_at: Date; erased: ErasureResult }>(this.dataSource, sql, [id]);
    if (!row) return null;
    const product = this.config.brand.productName;
    return {
      // The address is erased. The mail is sent to the address that `mail_recipient` keeps for it.
      to: null,
      subject: `Your data with ${product} was deleted`,
      body: [
        `What we held about you with ${product} was deleted on ${readableDay(row.honoured_at)}: your e-mail address, the names you gave your machines, and their ids. Your licenses have ended.`,
        {
          facts: [
            ['Licenses', String(row.erased.licenses)],
            ['Activations', String(row.erased.activations)],
            ['Purchases', String(row.erased.purchases)],
          ],
        },
        ...composeRetained(row.erased),
        'Telemetry, if you sent any, holds no link to you, to a license or to a machine, so it cannot be found for one person. It is deleted after 24 months.',
        'The last traces are removed from the files of the database within 25 days. Copies in backups are deleted with the backups. If a backup is restored before, your data is deleted from it again.',
        'Your address was needed only to send this mail. It is deleted as well, once the mail is sent.',
      ],
    };
  }
}

function composeRetained({ purchases_kept_until }: ErasureResult): Block[] {
  const licenses =
    'Of the licenses and activations, the data that is not personal (ids, states and dates) is kept for 12 months.';
  if (purchases_kept_until === null) return [licenses];
  const until = readableDay(new Date(`${purchases_kept_until}T00:00:00Z`));
  return [
    `For tax and refunds, the law requires us to keep some data of each purchase: the payment processor’s transaction id, its status and its day, until ${until} at the latest.`,
    licenses,
  ];
}
