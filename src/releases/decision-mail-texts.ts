import type { Language } from '../languages/language.js';
import { t } from '../languages/text.js';

/**
 * Returns what the mails to holders say about a decision, for the support page, which shows it before the decision is confirmed:
 * the paragraphs of each mail, in which the page fills in `{product}`, `{machine}` and `{reason}`.
 */
export function decisionMailTexts({ tag, messages }: Language) {
  const { facts, release, releaseDeclined } = messages.mail;
  const machineAndReason = [
    t(facts.fact, { name: facts.machine, value: '{machine}' }),
    t(facts.fact, { name: facts.reason, value: '{reason}' }),
  ];
  return {
    language: tag,
    unnamed_machine: facts.unnamed,
    release: [release.lead, ...machineAndReason],
    decline: [releaseDeclined.lead, ...machineAndReason, releaseDeclined.question],
  };
}
