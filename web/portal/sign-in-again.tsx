import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Dialog } from '../shared/dialogs/dialog.js';
import { common } from '../shared/texts/messages.js';
import { messages } from './messages.js';

interface Props {
  /** False if the session is valid, but began with a license key, and the action needs a mailed code. */
  readonly isSessionEnded: boolean;
  readonly onClose: () => void;
  /** The form to sign in. */
  readonly children: ComponentChildren;
}

/** A dialog to sign in again. The page behind it keeps the texts that were typed there. */
export function SignInAgain({ isSessionEnded, onClose, children }: Props) {
  const [isFilled, setIsFilled] = useState(false);
  return (
    <Dialog
      title={isSessionEnded ? messages.session.ended : messages.data.signInByCode}
      warning={isFilled && common.discard}
      onClose={onClose}
    >
      {isSessionEnded && <p>{messages.session.endedLead}</p>}
      {/* The events of all fields of the forms bubble up to here. */}
      <div onInput={({ currentTarget }) => setIsFilled(hasText(currentTarget))}>{children}</div>
    </Dialog>
  );
}

const hasText = (form: Element) => [...form.querySelectorAll('input')].some(({ value }) => value !== '');
