import { Injectable, OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Config } from '../core/config.js';
import { queryRow } from '../database/sql.js';
import type { Erased } from '../http/responses/api-types.js';
import type { Language } from '../languages/language.js';
import { t } from '../languages/text.js';
import { JobWorker } from '../mail/job-worker.js';
import type { MailMessage } from '../mail/mail-message.js';
import { MailService } from '../mail/mail.service.js';
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
    this.jobs.register(ERASURE_TASK, async ({ erasure_id, ...origin }) =>
      this.erasures.runQueued(erasure_id!, origin),
    );
    this.mail.register('erasure_requested', (id, language) => this.composeRequested(id, language));
    this.mail.register('erasure_receipt', (id, language) => this.composeReceipt(id, language));
  }

  private async composeRequested(id: string, language: Language): Promise<MailMessage | null> {
    const sql = 'select email, runs_at from erasure_request where id = $1';
    const row = await queryRow<{ email: string | null; runs_at: Date }>(this.dataSource, sql, [id]);
    if (!row) return null;
    const product = this.config.brand.productName;
    const texts = language.messages.mail.erasureAsked;
    const day = language.formatDay(row.runs_at);
    return {
      to: row.email,
      subject: t(texts.subject, { product }),
      body: [
        t(texts.lead, { product }),
        t(texts.runs, { day, days: language.formatNumber(CANCELLATION_PERIOD_DAYS) }),
        { link: `${this.config.publicUrl}/portal/`, name: language.messages.privacy.portal },
        texts.notYou,
      ],
    };
  }

  private async composeReceipt(id: string, language: Language): Promise<MailMessage | null> {
    const sql = 'select honoured_at, erased from erasure_request where id = $1 and honoured_at is not null';
    const row = await queryRow<{ honoured_at: Date; erased: Erased }>(this.dataSource, sql, [id]);
    if (!row) return null;
    const product = this.config.brand.productName;
    const { erasureReceipt: texts, facts: names } = language.messages.mail;
    const { licenses, activations, purchases, purchases_kept_until } = row.erased;
    const keptUntil = purchases_kept_until && new Date(`${purchases_kept_until}T00:00:00Z`);
    return {
      // The address is erased. The mail is sent to the address that `mail_recipient` keeps for it.
      to: null,
      subject: t(texts.subject, { product }),
      body: [
        t(texts.lead, { product, day: language.formatDay(row.honoured_at) }),
        {
          facts: [
            [names.licenses, language.formatNumber(licenses)],
            [names.activations, language.formatNumber(activations)],
            [names.purchases, language.formatNumber(purchases)],
          ],
        },
        ...(keptUntil ? [t(texts.keptByLaw, { day: language.formatDay(keptUntil) })] : []),
        texts.keptOther,
        texts.telemetry,
        texts.traces,
        texts.address,
      ],
    };
  }
}
