import { useState } from 'preact/hooks';
import { Dialog } from '../shared/dialogs/dialog.js';
import { Button } from '../shared/forms/button.js';
import { common } from '../shared/texts/messages.js';
import type { HolderLicensesAnswer } from '../shared/api/api-types.js';
import { SignIn } from './sign-in.js';
import { messages } from './messages.js';

/**
 * Why a holder has to sign in again: the session has ended, or an action needs a sign-in by code, after which the
 * element with the id `focusAfterwards` gets the focus. `later`: the session has ended and no dialog is open, because
 * the holder closed it, or because a read in the background found it out.
 */
export type SignInReason = 'ended' | 'later' | { readonly focusAfterwards: string };

interface Props {
  readonly holder: HolderLicensesAnswer;
  readonly reason: Exclude<SignInReason, 'later'>;
  readonly onSignedIn: () => Promise<void>;
  readonly onClose: () => void;
}

/** A dialog to sign in again. The page behind it keeps the texts that were typed there. */
export function SignInAgain({ holder, reason, onSignedIn, onClose }: Props) {
  const codeOnly = reason !== 'ended';
  const [isFilled, setIsFilled] = useState(false);
  return (
    <Dialog
      title={reason === 'ended' ? messages.session.ended : messages.data.signInByCode}
      warning={isFilled && common.discard}
      onClose={onClose}
    >
      {reason === 'ended' && <p>{messages.session.endedLead}</p>}
      {/* The events of all fields of the forms bubble up to here. */}
      <div onInput={({ currentTarget }) => setIsFilled(hasText(currentTarget))}>
        <SignIn
          email={holder.email}
          byCode={codeOnly || holder.signed_in_by === 'code'}
          codeOnly={codeOnly}
          codeLead={messages.signIn.codeLead}
          onSignedIn={onSignedIn}
          extra={
            <Button kind="link" onClick={onClose}>
              {messages.session.notNow}
            </Button>
          }
        />
      </div>
    </Dialog>
  );
}

const hasText = (form: Element) => [...form.querySelectorAll('input')].some(({ value }) => value !== '');
