import { randomUUID } from 'node:crypto';
import { Injectable, OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { validate as isUuid } from 'uuid';
import type { AuditContext } from '../../audit/audit.js';
import { Clock } from '../../core/clock.js';
import { queryRow } from '../../database/sql.js';
import { problem } from '../../http/problems/problem.js';
import { tokenHash } from '../../http/sessions/token-hash.js';
import { newNonce, type DerivationInput } from '../../keys/mailed-secrets.js';
import { LicenseKeys } from '../../keys/license-keys.js';
import type { MailMessage } from '../../mail/mail-message.js';
import { enqueueMail, MailService } from '../../mail/mail.service.js';
import { lockAdmins } from '../identity/admins.js';
import { hasPasskey, LINK_LIFETIME_MINUTES, lockStaff, StaffLinks } from './staff-links.js';

/** Mails a sign-in link to a staff member without a passkey. */
@Injectable()
export class StaffLinkMails implements OnModuleInit {
  constructor(
    private readonly dataSource: DataSource,
    private readonly links: StaffLinks,
    private readonly keys: LicenseKeys,
    private readonly clock: Clock,
    private readonly mail: MailService,
  ) {}

  onModuleInit(): void {
    this.mail.register('staff_link', (id) => this.compose(id), { isForStaff: true });
  }

  /** @param actingAdminId the admin who requests the link @throws Problem `not_found`, `forbidden`, `has_passkey` */
  async send(staffId: string, audit: AuditContext, actingAdminId: string): Promise<void> {
    if (!isUuid(staffId)) throw problem('not_found');
    await this.dataSource.transaction(async (manager) => {
      await lockAdmins(manager, actingAdminId);
      await lockStaff(manager, staffId);
      if (await hasPasskey(manager, staffId)) throw problem('has_passkey');
      const [id, nonce] = [randomUUID(), newNonce()];
      const secret = this.keys.staffLink({ id, nonce });
      await this.links.store(manager, { id, staff_id: staffId, secret, nonce }, audit);
      await enqueueMail(manager, 'staff_link', id, this.clock.now(), { isUrgent: true });
    });
  }

  // No mail is sent for a link that was used, which deletes its row, or that expired while the mail server was unavailable.
  private async compose(id: string): Promise<MailMessage | null> {
    const link = await queryRow<DerivationInput & { readonly token_hash: Buffer; readonly email: string }>(
      this.dataSource,
      `select l.id, l.nonce, l.token_hash, s.email from staff_link l join staff s on s.id = l.staff_id
       where l.id = $1 and l.nonce is not null and l.expires_at > $2`,
      [id, this.clock.now()],
    );
    if (!link) return null;
    const secret = this.keys.staffLink(link);
    // If LICENSE_KEY_SECRET has changed since the link was created, the derived secret does not match, and no mail is sent.
    if (!tokenHash(secret).equals(link.token_hash)) return null;
    return {
      to: link.email,
      subject: 'Your link to sign in to support',
      body: [
        'With this link you sign in to the support pages, and make the passkey that you sign in with from then on:',
        { link: this.links.createUrl(secret), name: 'Sign in to support' },
        `It works once, within ${LINK_LIFETIME_MINUTES} minutes. Anyone who has it can sign in as you: do not pass it on.`,
        'If you did not expect this mail, tell the person who looks after the support pages.',
      ],
    };
  }
}
