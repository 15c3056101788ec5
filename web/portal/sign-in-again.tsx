import { Dialog } from '../shared/dialog.js';
import { Button } from '../shared/button.js';
import type { HolderLicensesAnswer } from '../shared/api-types.js';
import { SignIn } from './sign-in.js';
import { messages } from './messages.js';

/**
 * Why a signed-in person signs in again: the session ended (`later`: the person closed the dialog), or a code is needed. Then
 * the element with the id `next` gets the focus.
 */
export type Again = 'ended' | 'later' | { readonly next: string };

interface Props {
  readonly holder: HolderLicensesAnswer;
  readonly why: Exclude<Again, 'later'>;
  readonly onSignedIn: () => Promise<void>;
  readonly onClose: () => void;
}

/** The page behind it stays as it is, with all that was typed there. */
export function SignInAgain({ holder, why, onSignedIn, onClose }: Props) {
  const codeOnly = why !== 'ended';
  return (
    <Dialog title={why === 'ended' ? messages.session.ended : messages.data.signInByCode} onClose={onClose}>
      {why === 'ended' && <p>{messages.session.endedLead}</p>}
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
    </Dialog>
  );
}
