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

/** A request, its machine and the address of its holder. */
interface MailedRequest extends MailedMachine {
  readonly email: string | null;
  readonly asked_at: Date;
  readonly decision_reason: string | null;
}

/** Composes the mails that confirm a release request, or decline it. A release sends the mail `binding_released`. */
@Injectable()
export class ReleaseRequestMails implements OnModuleInit {
  constructor(
    private readonly dataSource: DataSource,
    private readonly mail: MailService,
    private readonly config: Config,
  ) {}

  onModuleInit(): void {
    this.mail.register('release_requested', async (id, language) => {
      const request = await this.find(id);
      const { releaseAsked: texts } = language.messages.mail;
      return request && this.compose(request, language, texts, [], texts.notYou);
    });
    this.mail.register('release_declined', async (id, language) => {
      const request = await this.find(id);
      const { releaseDeclined: texts, facts } = language.messages.mail;
      const reason = request?.decision_reason ?? null;
      const reasonFact = reason === null ? [] : [[facts.reason, reason] as const];
      return request && this.compose(request, language, texts, reasonFact, texts.question);
    });
  }

  // Both mails say that the machine stays active, so neither is sent once the activation has ended.
  private async find(id: string): Promise<MailedRequest | null> {
    const request = await queryRow<MailedRequest>(
      this.dataSource,
      `select l.email, r.asked_at, ${MACHINE_COLUMNS}, ${DECISION_REASON} as decision_reason from release_request r
       join activation a on a.id = r.activation_id join license l on l.id = a.license_id
       where r.id = $1 and a.ended_at is null and ${sinceCurrentHolder('r.asked_at')}`,
      [id],
    );
    return request ?? null;
  }

  private compose(
    request: MailedRequest,
    language: Language,
    { subject, lead }: { readonly subject: string; readonly lead: string },
    moreFacts: readonly (readonly [name: string, value: string])[],
    end: string,
  ): MailMessage {
    const product = this.config.brand.productName;
    const asked = [language.messages.mail.facts.asked, language.formatMoment(request.asked_at)] as const;
    return {
      to: request.email,
      subject: t(subject, { product }),
      body: [t(lead, { product }), { facts: [...machineFacts(request, language), asked, ...moreFacts] }, end],
    };
  }
}
