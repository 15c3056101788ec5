import { directionOf } from '../../../src/languages/tags.js';
import { brand } from '../../shared/page/brand.js';
import { fill, t, UntrustedText } from '../../shared/texts/text.js';
import { messages } from '../messages.js';
import type { Decision } from '../types.js';
import { useDecisionMails } from './decision-mails.js';

const languageNames = new Intl.DisplayNames('en', { type: 'language' });

interface Props {
  readonly decision: Decision;
  readonly reason: string;
  /** The label of the machine, which may have none; undefined if the decision is about several. */
  readonly machine: string | null | undefined;
}

/** What the mail about a decision says to the holder, in the language in which it is sent. */
export function HolderMail({ decision, reason, machine }: Props) {
  const mails = useDecisionMails();
  if (!mails) return null;
  const { language, unnamed_machine: unnamed } = mails;
  const { holderMail: texts } = messages;
  const parts = {
    product: <UntrustedText text={brand.product_name} />,
    machine: <Value text={machine === null ? unnamed : machine} />,
    reason: <Value text={reason} />,
  };
  const title = machine === undefined ? texts.titleOfBatch : texts.title;
  return (
    <figure class="mail">
      <figcaption>{t(title, { language: languageNames.of(language)! })}</figcaption>
      <blockquote lang={language} dir={directionOf(language)}>
        {mails[decision].map((paragraph) => (
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
