import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { focusFirstError } from '../../shared/announcer.js';
import { Button } from '../../shared/button.js';
import { Dialog } from '../../shared/dialog.js';
import { Form } from '../../shared/form.js';
import { Notice } from '../../shared/notice.js';
import { messages } from '../messages.js';
import { memberErrors, problemText } from './problem-text.js';
import type { useDeed } from './use-deed.js';

interface Props {
  readonly title: ComponentChildren;
  readonly submit: string;
  readonly danger?: boolean;
  readonly deed: ReturnType<typeof useDeed>;
  readonly children: ComponentChildren;
  readonly onClose: () => void;
  /** Whether what was typed can be sent; it marks the fields that cannot. */
  readonly isValid?: () => boolean;
  readonly onSubmit: () => Promise<unknown>;
}

/**
 * A question with fields, a button that does it and one that does not. A refusal leaves it open, as it was filled in;
 * while it is being done, nobody can close it and believe that nothing has happened.
 */
export function AskDialog(props: Props) {
  const { title, submit, danger = false, deed, children, onClose, isValid, onSubmit } = props;
  const form = useRef<HTMLFormElement>(null);
  const hasMemberErrors = Object.keys(memberErrors(deed.error)).length > 0;
  async function submitted() {
    if (!isValid || isValid()) await onSubmit();
    // To what is wrong with it, whether the page or the service says so.
    if (form.current) focusFirstError(form.current);
  }
  return (
    <Dialog title={title} busy={deed.busy} onClose={onClose}>
      <Form element={form} onSubmit={submitted}>
        {children}
        {deed.error !== undefined && (
          <Notice kind="danger">{hasMemberErrors ? messages.checkFields : problemText(deed.error)}</Notice>
        )}
        <div class="actions">
          <Button type="submit" kind={danger ? 'danger' : 'primary'} busy={deed.busy}>
            {submit}
          </Button>
          {/* With nothing to fill in, the question begins at the answer that changes nothing. */}
          <Button autofocus={!isValid} busy={deed.busy} onClick={onClose}>
            {messages.cancel}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
