import type { Language } from '../languages/language.js';
import { t } from '../languages/text.js';

/** The SQL columns of a `MailedMachine`; the table `activation` has the alias `a`. */
export const MACHINE_COLUMNS = 'a.id as activation_id, a.hostname_hint, a.activated_at, a.app_version';

/** A machine that a mail is about. */
export interface MailedMachine {
  readonly activation_id: string;
  readonly hostname_hint: string | null;
  readonly activated_at: Date;
  readonly app_version: string;
}

/** The facts by which a holder recognizes a machine: label, time, version, and the last characters of the activation id. */
export function machineFacts(
  machine: MailedMachine,
  language: Language,
): (readonly [name: string, value: string])[] {
  const { activation_id, hostname_hint, activated_at, app_version } = machine;
  const texts = language.messages.mail.facts;
  const moment = language.formatMoment(activated_at);
  return [
    [texts.machine, hostname_hint ?? texts.unnamed],
    [texts.activated, t(texts.activatedWith, { moment, version: app_version })],
    [texts.activationId, t(texts.endsIn, { end: activation_id.slice(-4) })],
  ];
}
