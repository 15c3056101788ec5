import { Button } from '../../shared/forms/button.js';
import { t, UntrustedText } from '../../shared/texts/text.js';
import { toast, toastError } from '../../shared/notices/toast.js';
import { messages } from '../messages.js';

interface Props {
  readonly text: string;
  /** What the text is, such as `e-mail`. */
  readonly what: string;
  readonly class?: string;
  /** A short form that is shown instead of the text. */
  readonly short?: string;
}

/** A text with a button that copies it. */
export function Copyable({ text, what, class: className = '', short = text }: Props) {
  async function copy() {
    try {
      // On a page without TLS there is no `clipboard`.
      await navigator.clipboard.writeText(text);
      toast(t(messages.copy.done, { what }));
    } catch {
      toastError(t(messages.copy.failed, { what }));
    }
  }
  return (
    <span class={`copyable ${className}`}>
      <UntrustedText text={short} />{' '}
      <Button kind="link" label={t(messages.copy.label, { what })} onClick={() => void copy()}>
        {messages.copy.button}
      </Button>
    </span>
  );
}
