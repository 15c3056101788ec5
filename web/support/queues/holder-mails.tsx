import { directionOf } from '../../../src/languages/tags.js';
import type { DecisionMails } from '../../../src/http/responses/api-types.js';
import { plural } from '../../shared/dates/dates.js';
import { brand } from '../../shared/page/brand.js';
import { fill, t, UntrustedText } from '../../shared/texts/text.js';
import { messages } from '../messages.js';
import type { Decision } from '../types.js';
import type { Target } from './decide.js';
import { useDecisionMails } from './decision-mails.js';

const languageNames = new Intl.DisplayNames('en', { type: 'language' });
const texts = messages.holderMail;

interface Props {
  readonly targets: readonly Target[];
  readonly decision: Decision;
  readonly reason: string;
}

/** What the mails about a decision say to the holders, in each language in which one is sent. */
export function HolderMails({ targets, decision, reason }: Props) {
  const answer = useDecisionMails();
  if (!answer) return null;
  const { mails, language: usual } = answer;
  // As in the service, the language of MAIL_LANGUAGE replaces one that is missing or no longer available.
  const languageOf = ({ language }: Target) =>
    mails.some((mail) => mail.language === language) ? language : usual;
  const sent = mails
    .map((mail) => ({ mail, count: targets.filter((target) => languageOf(target) === mail.language).length }))
    .filter(({ count }) => count > 0);
  const titleOf = (count: number) => {
    if (targets.length === 1) return texts.title;
    return sent.length === 1 ? texts.titleOfBatch : plural(count, texts.titleOfSome);
  };
  const machine = targets.length === 1 ? targets[0]!.activation.hostname_hint?.trim() || null : undefined;
  return (
    <>
      {sent.map(({ mail, count }) => (
        <HolderMail key={mail.language} title={titleOf(count)} {...{ mail, decision, reason, machine }} />
      ))}
    </>
  );
}

interface HolderMailProps extends Pick<Props, 'decision' | 'reason'> {
  readonly title: string;
  readonly mail: DecisionMails;
  /** The label of the machine, which may have none; undefined if the decision is about several. */
  readonly machine: string | null | undefined;
}

function HolderMail({ title, mail, decision, reason, machine }: HolderMailProps) {
  const { language, unnamed_machine: unnamed } = mail;
  const parts = {
    product: <UntrustedText text={brand.product_name} />,
    machine: <Value text={machine === null ? unnamed : machine} />,
    reason: <Value text={reason} />,
  };
  return (
    <figure class="mail">
      <figcaption>{t(title, { language: languageNames.of(language)! })}</figcaption>
      <blockquote lang={language} dir={directionOf(language)}>
        {mail[decision].map((paragraph) => (
          <p key={paragraph}>{fill(paragraph, parts)}</p>
        ))}
      </blockquote>
    </figure>
  );
}

/** A text of the mail, or dots if it is not typed yet, or is different for each machine. */
function Value({ text }: { text: string | undefined }) {
  return text ? <UntrustedText text={text} /> : <span class="quiet">…</span>;
}
