import { Injectable, OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Config } from '../core/config.js';
import { queryRow } from '../database/sql.js';
import { JobFailure } from '../mail/jobs.js';
import { LicenseKeys } from '../keys/license-keys.js';
import type { Language } from '../languages/language.js';
import { t } from '../languages/text.js';
import { MACHINE_COLUMNS, machineFacts, type MailedMachine } from '../mail/machine-facts.js';
import type { Block, MailMessage } from '../mail/mail-message.js';
import { MailService } from '../mail/mail.service.js';
import { sinceCurrentHolder } from './former-holder.js';
import { mailableKey } from './mailable-key.js';

/**
 * An SQL expression: the reason in the audit event of the release of an activation (alias `a`) of a license (alias `l`); null
 * without such an event, as for a release by the holder.
 */
const RELEASE_REASON = `
  (select e.reason from audit_event e where e.license_id = l.id and e.action = 'activation.release'
     and e.change ->> 'activation_id' = a.id::text limit 1)`;

/** The kind of the mail with the new key of an imported license. */
export const IMPORTED_KEY_MAIL = 'license_key_imported';

/** The first sentence of a mail with a key. */
type Opening = 'bought' | 'again' | 'replaced' | 'imported';

/** A machine, with its activation and the license that it uses or used. */
interface LicensedMachine extends MailedMachine {
  readonly email: string | null;
  readonly key_hint: string;
  readonly ended_at: Date | null;
  readonly release_reason: string | null;
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
    const keyMail = (opening: Opening) => (id: string, language: Language) =>
      this.composeKeyMail(id, language, opening);
    this.mail.register('license_key', keyMail('bought'));
    this.mail.register('license_key_again', keyMail('again'));
    this.mail.register('license_key_replaced', keyMail('replaced'));
    this.mail.register(IMPORTED_KEY_MAIL, keyMail('imported'));
    this.mail.register('email_changed', async (_id, language) => this.composeEmailChanged(language));
    this.mail.register('activation_created', (id, language) => this.composeActivationCreated(id, language));
    this.mail.register('binding_released', (id, language) => this.composeActivationReleased(id, language));
  }

  private get product(): string {
    return this.config.brand.productName;
  }

  private async composeKeyMail(
    id: string,
    language: Language,
    opening: Opening,
  ): Promise<MailMessage | null> {
    const key = await mailableKey(this.dataSource.manager, this.keys, id);
    if (key === 'not_made_here')
      throw new JobFailure(
        'the license key cannot be derived: LICENSE_KEY_SECRET has changed, or the key was imported',
      );
    if (typeof key === 'string') return null;
    const { product } = this;
    const { key: texts, facts: names } = language.messages.mail;
    const facts: [string, string][] = [
      [names.email, key.email],
      [names.machines, language.formatNumber(key.machines_allowed)],
    ];
    if (key.expires_at) {
      const name = key.on_expiry === 'keep' ? names.updates : names.runs;
      facts.push([name, t(names.through, { day: language.formatLastDay(key.expires_at) })]);
    }
    // The mails `imported` and `again` name the last characters of the previous key, because a holder who asks for the key again
    // may know only that one. `previous_key_hint` is null without a previous key, and if the new key was replaced since the import:
    // then both mails have the text `again`.
    const end = opening === 'replaced' || opening === 'bought' ? null : key.previous_key_hint;
    const lead =
      end === null ? texts[opening === 'imported' ? 'again' : opening] : t(texts.imported, { product, end });
    const body: Block[] = [
      t(lead, { product }),
      { code: key.license_key },
      { facts },
      t(texts.activate, { product }),
      { steps: [t(texts.open, { product }), texts.enter, texts.confirm] },
      ...this.portalLink(texts.keep, language),
    ];
    const isNew = opening === 'replaced' || opening === 'imported';
    return { to: key.email, subject: t(isNew ? texts.newSubject : texts.subject, { product }), body };
  }

  // `LicensesService.set` enqueues this mail for the old address and for the new one. The text contains neither address.
  private composeEmailChanged({ messages }: Language): MailMessage {
    const { product } = this;
    const texts = messages.mail.emailChanged;
    return {
      // The recipient was stored when the mail was enqueued.
      to: null,
      subject: t(texts.subject, { product }),
      body: [t(texts.lead, { product }), texts.effect, texts.notYou],
    };
  }

  private async composeActivationCreated(id: string, language: Language): Promise<MailMessage | null> {
    const activation = await this.findMachine(id);
    if (!activation || activation.ended_at) return null;
    const { product } = this;
    const { hostname_hint: machine } = activation;
    const texts = language.messages.mail.activation;
    const subject = machine ? t(texts.subject, { machine, product }) : t(texts.subjectUnnamed, { product });
    return {
      to: activation.email,
      subject,
      body: [
        t(texts.lead, { subject }),
        { facts: licensedMachineFacts(activation, language) },
        ...this.portalLink(texts.notYou, language, `#activation=${id}`),
      ],
    };
  }

  private findMachine(activationId: string): Promise<LicensedMachine | undefined> {
    return queryRow<LicensedMachine>(
      this.dataSource,
      `select l.email, l.key_hint, a.ended_at, ${RELEASE_REASON} as release_reason, ${MACHINE_COLUMNS}
       from activation a join license l on l.id = a.license_id
       where a.id = $1 and ${sinceCurrentHolder('a.ended_at')}`,
      [activationId],
    );
  }

  private async composeActivationReleased(id: string, language: Language): Promise<MailMessage | null> {
    const activation = await this.findMachine(id);
    if (!activation?.ended_at) return null;
    const { product } = this;
    const { release: texts, facts: names } = language.messages.mail;
    const released = [names.released, language.formatMoment(activation.ended_at)] as const;
    const { release_reason } = activation;
    const reason = release_reason === null ? [] : [[names.reason, release_reason] as const];
    return {
      to: activation.email,
      subject: t(texts.subject, { product }),
      body: [
        t(texts.lead, { product }),
        { facts: [...licensedMachineFacts(activation, language), released, ...reason] },
        ...this.portalLink(texts.mistake, language),
      ],
    };
  }

  private portalLink(sentence: string, { messages }: Language, hash = ''): Block[] {
    return [sentence, { link: `${this.config.publicUrl}/portal/${hash}`, name: messages.privacy.portal }];
  }
}

/** The facts about a machine, and the last two symbols of the current key of its license. */
function licensedMachineFacts(machine: LicensedMachine, language: Language) {
  const { licenseKey, endsIn } = language.messages.mail.facts;
  return [...machineFacts(machine, language), [licenseKey, t(endsIn, { end: machine.key_hint })] as const];
}
