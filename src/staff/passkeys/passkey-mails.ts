import { Injectable, OnModuleInit } from '@nestjs/common';
import { Config } from '../../core/config.js';
import type { MailMessage } from '../../mail/mail-message.js';
import { MailService } from '../../mail/mail.service.js';

/** Tells a staff member of a new passkey: whoever had the session for a moment must not stay in unnoticed. */
@Injectable()
export class PasskeyMails implements OnModuleInit {
  constructor(
    private readonly mail: MailService,
    private readonly config: Config,
  ) {}

  onModuleInit(): void {
    this.mail.register('passkey_added', async () => this.added());
  }

  private added(): MailMessage {
    return {
      to: null,
      subject: 'A new passkey signs you in to support',
      body: [
        'A passkey was added to your account on the support pages. From now on it signs you in.',
        'If it was not you, remove it here at once, and tell the person who looks after the support pages:',
        { link: `${this.config.publicUrl}/support/` },
      ],
    };
  }
}
