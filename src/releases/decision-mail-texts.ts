import type { Language } from '../languages/language.js';
import { t } from '../languages/text.js';

/**
 * Returns the main paragraphs of the mails to holders about a decision, in one language. The support page shows them before
 * staff confirm the decision, and fills in `{product}`, `{machine}` and `{reason}`. Other facts and links of the mails are
 * left out.
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
