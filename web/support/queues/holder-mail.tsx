import { brand } from '../../shared/brand.js';
import { fill, UntrustedText } from '../../shared/text.js';
import { messages } from '../messages.js';
import type { Decision } from '../types.js';

interface Props {
  readonly decision: Decision;
  readonly reason: string;
  /** The label of the machine; undefined if the decision is about several. */
  readonly machine: string | undefined;
}

/** What the mail about a decision says to the holder. A test compares the text with the mail that the service sends. */
export function HolderMail({ decision, reason, machine }: Props) {
  const { holderMail: texts } = messages;
  const product = <UntrustedText text={brand.product_name} />;
  return (
    <figure class="mail">
      <figcaption>{machine === undefined ? texts.titleOfBatch : texts.title}</figcaption>
      <blockquote>
        <p>{fill(texts[decision], { product })}</p>
        <p>{fill(texts.machine, { machine: <Value text={machine} /> })}</p>
        <p class="reason">{fill(texts.reason, { reason: <Value text={reason} /> })}</p>
        {decision === 'decline' && <p>{texts.question}</p>}
      </blockquote>
    </figure>
  );
}

/** A text of the mail, or dots if it is not typed yet, or is different for each machine. */
function Value({ text }: { text: string | undefined }) {
  return text ? <UntrustedText text={text} /> : <span class="quiet">…</span>;
}
