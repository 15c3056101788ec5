import { Injectable, OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { readableMoment } from '../core/clock.js';
import { Config } from '../core/config.js';
import { queryRow } from '../database/sql.js';
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
    this.mail.register('release_declined', (id) => this.compose(id));
  }

  private async compose(id: string): Promise<MailMessage | null> {
    const request = await queryRow<
      MailedMachine & {
        readonly email: string | null;
        readonly asked_at: Date;
        readonly reason: string | null;
      }
    >(
      this.dataSource,
      `select l.email, r.asked_at, ${MACHINE_COLUMNS}, ${DECISION_REASON} as reason from release_request r
       join activation a on a.id = r.activation_id join license l on l.id = a.license_id where r.id = $1`,
      [id],
    );
    if (!request) return null;
    const product = this.config.brand.productName;
    return {
      to: request.email,
      subject: `A machine stays on your license for ${product}`,
      body: [
        `You asked our support to release a machine from your license for ${product}. It was not released, and stays active.`,
        {
          facts: [
            ...machineFacts(request),
            ['Asked', readableMoment(request.asked_at)],
            ...(request.reason === null ? [] : [['Reason', request.reason] as const]),
          ],
        },
        'If you have a question about this, please answer this mail.',
      ],
    };
  }
}
