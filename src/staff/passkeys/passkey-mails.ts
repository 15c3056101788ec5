import { Injectable, OnModuleInit } from '@nestjs/common';
import { Config } from '../../core/config.js';
import type { MailMessage } from '../../mail/mail-message.js';
import { MailService } from '../../mail/mail.service.js';

/** Informs staff members of a new passkey by mail, so that they notice a passkey that an attacker added in their session. */
@Injectable()
export class PasskeyMails implements OnModuleInit {
  constructor(
    private readonly mail: MailService,
    private readonly config: Config,
  ) {}

  onModuleInit(): void {
    this.mail.register('passkey_added', async () => this.composeAdded(), { isForStaff: true });
  }

  private composeAdded(): MailMessage {
    return {
      // The recipient was stored when the mail was enqueued.
      to: null,
      subject: 'A new passkey signs you in to support',
      body: [
        'A passkey was added to your account on the support pages. From now on it signs you in.',
        'If it was not you, remove it here at once, and tell the person who looks after the support pages:',
        { link: `${this.config.publicUrl}/support/`, name: 'Go to the support pages' },
      ],
    };
  }
}
