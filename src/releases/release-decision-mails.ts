import { Injectable, OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Config } from '../core/config.js';
import { queryRow } from '../database/sql.js';
import type { Language } from '../languages/language.js';
import { t } from '../languages/text.js';
import { sinceCurrentHolder } from '../licenses/former-holder.js';
import { MACHINE_COLUMNS, machineFacts, type MailedMachine } from '../mail/machine-facts.js';
import type { MailMessage } from '../mail/mail-message.js';
import { MailService } from '../mail/mail.service.js';
import { DECISION_REASON } from './release-decisions.js';

/** Composes the mail about a declined release request. A release sends the mail `binding_released`. */
@Injectable()
export class ReleaseDecisionMails implements OnModuleInit {
  constructor(
    private readonly dataSource: DataSource,
    private readonly mail: MailService,
    private readonly config: Config,
  ) {}

  onModuleInit(): void {
    this.mail.register('release_declined', (id, language) => this.compose(id, language));
  }

  // The mail says that the machine stays active, so it is not sent once the activation has ended.
  private async compose(id: string, language: Language): Promise<MailMessage | null> {
    const request = await queryRow<
      MailedMachine & {
        readonly email: string | null;
        readonly asked_at: Date;
        readonly reason: string | null;
      }
    >(
      this.dataSource,
      `select l.email, r.asked_at, ${MACHINE_COLUMNS}, ${DECISION_REASON} as reason from release_request r
       join activation a on a.id = r.activation_id join license l on l.id = a.license_id
       where r.id = $1 and a.ended_at is null and ${sinceCurrentHolder('r.asked_at')}`,
      [id],
    );
    if (!request) return null;
    const product = this.config.brand.productName;
    const { releaseDeclined: texts, facts: names } = language.messages.mail;
    return {
      to: request.email,
      subject: t(texts.subject, { product }),
      body: [
        t(texts.lead, { product }),
        {
          facts: [
            ...machineFacts(request, language),
            [names.asked, language.formatMoment(request.asked_at)],
            ...(request.reason === null ? [] : [[names.reason, request.reason] as const]),
          ],
        },
        texts.question,
      ],
    };
  }
}
