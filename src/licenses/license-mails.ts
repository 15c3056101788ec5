import { Injectable, OnModuleInit } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import { readableLastDay, readableMoment } from '../core/clock.js';
import { Config } from '../core/config.js';
import { queryRow } from '../database/sql.js';
import { JobFailure } from '../mail/jobs.js';
import { LicenseKeys } from '../keys/license-keys.js';
import { MACHINE_COLUMNS, machineFacts, type MailedMachine } from '../mail/machine-facts.js';
import type { Block, MailMessage } from '../mail/mail-message.js';
import { enqueueMail, MailService } from '../mail/mail.service.js';
import { mailableKey } from './mailable-key.js';

/** A machine, with its activation and the license that it uses or used. */
interface LicensedMachine extends MailedMachine {
  readonly email: string | null;
  readonly key_hint: string;
  readonly ended_at: Date | null;
}

/** Enqueues the mail about a release, in the transaction that releases the activation. */
export async function enqueueReleaseMail(
  manager: EntityManager,
  activationId: string,
  at: Date,
): Promise<void> {
  await enqueueMail(manager, 'binding_released', activationId, at);
}

/** Enqueues the mail about a new activation, in the transaction that creates it. */
export async function enqueueActivationMail(
  manager: EntityManager,
  activationId: string,
  at: Date,
): Promise<void> {
  await enqueueMail(manager, 'activation_created', activationId, at);
}

/** Composes the mails to a holder about license keys, a changed address, and new or released activations. */
@Injectable()
export class LicenseMails implements OnModuleInit {
  constructor(
    private readonly mail: MailService,
    private readonly dataSource: DataSource,
    private readonly keys: LicenseKeys,
    private readonly config: Config,
  ) {}

  onModuleInit(): void {
    const product = this.config.brand.productName;
    const keyMail = (subject: string, opening: string) => (id: string) =>
      this.composeKeyMail(id, subject, opening);
    this.mail.register(
      'license_key',
      keyMail(
        `Your license key for ${product}`,
        `Thank you for buying ${product}. This is your license key:`,
      ),
    );
    this.mail.register(
      'license_key_again',
      keyMail(`Your license key for ${product}`, `This is your license key for ${product} once more:`),
    );
    this.mail.register(
      'license_key_replaced',
      keyMail(
        `Your new license key for ${product}`,
        `Your license key for ${product} was replaced. The old key activates no further machine; machines that are active stay active. This is the new key:`,
      ),
    );
    this.mail.register('email_changed', async () => this.composeEmailChanged());
    this.mail.register('activation_created', (id) => this.composeActivationCreated(id));
    this.mail.register('binding_released', (id) => this.composeActivationReleased(id));
  }

  private async composeKeyMail(id: string, subject: string, opening: string): Promise<MailMessage | null> {
    const key = await mailableKey(this.dataSource.manager, this.keys, id);
    if (key === 'not_made_here')
      throw new JobFailure(
        'the license key cannot be derived: LICENSE_KEY_SECRET has changed, or the key was imported',
      );
    if (typeof key === 'string') return null;
    const facts: [string, string][] = [
      ['E-mail address', key.email],
      ['Machines', String(key.machines_allowed)],
    ];
    if (key.expires_at) {
      const name = key.on_expiry === 'keep' ? 'Updates' : 'Runs';
      facts.push([name, `through ${readableLastDay(key.expires_at)}`]);
    }
    const body: Block[] = [
      opening,
      { code: key.license_key },
      'To activate it, enter it together with this e-mail address:',
      { facts },
      ...this.portalLink('Keep this mail. The machines that use your license are listed here:'),
    ];
    return { to: key.email, subject, body };
  }

  // `LicensesService.set` enqueues this mail for the old address and for the new one. The text contains neither address.
  private composeEmailChanged(): MailMessage {
    const product = this.config.brand.productName;
    return {
      // The recipient was stored when the mail was enqueued.
      to: null,
      subject: `The e-mail address of your license for ${product} has changed`,
      body: [
        `The e-mail address of a license for ${product} has changed. This mail goes to the old address and to the new one.`,
        'The license key stays as it is, and machines that are active stay active. To activate another machine, enter the key together with the new address.',
        'If you did not ask for this, please answer this mail.',
      ],
    };
  }

  private async composeActivationCreated(id: string): Promise<MailMessage | null> {
    const activation = await this.findMachine(id);
    if (!activation || activation.ended_at) return null;
    const product = this.config.brand.productName;
    const machine = activation.hostname_hint ? `“${activation.hostname_hint}”` : 'An unnamed machine';
    const sentence = `${machine} now uses your license for ${product}`;
    return {
      to: activation.email,
      subject: sentence,
      body: [
        `${sentence}.`,
        { facts: [...machineFacts(activation), ['License key', `ends in ${activation.key_hint}`]] },
        ...this.portalLink(
          'If this was not you, see your machines here, and release the ones that you do not know:',
        ),
      ],
    };
  }

  private findMachine(activationId: string): Promise<LicensedMachine | undefined> {
    return queryRow<LicensedMachine>(
      this.dataSource,
      `select l.email, l.key_hint, a.ended_at, ${MACHINE_COLUMNS}
       from activation a join license l on l.id = a.license_id where a.id = $1`,
      [activationId],
    );
  }

  private async composeActivationReleased(id: string): Promise<MailMessage | null> {
    const activation = await this.findMachine(id);
    if (!activation?.ended_at) return null;
    const product = this.config.brand.productName;
    return {
      to: activation.email,
      subject: `A machine was released from your license for ${product}`,
      body: [
        `A machine was released from your license for ${product}. Its seat is free for another one; on the released machine ${product} has to be activated again.`,
        {
          facts: [
            ...machineFacts(activation),
            ['License key', `ends in ${activation.key_hint}`],
            ['Released', readableMoment(activation.ended_at)],
          ],
        },
        ...this.portalLink(
          'If this was a mistake, activate the machine again. Your machines are listed here:',
        ),
      ],
    };
  }

  private portalLink(sentence: string): Block[] {
    return [sentence, { link: `${this.config.publicUrl}/portal/` }];
  }
}
