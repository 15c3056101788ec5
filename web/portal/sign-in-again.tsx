import { Dialog } from '../shared/dialog.js';
import { Button } from '../shared/button.js';
import type { HolderLicensesAnswer } from '../shared/api-types.js';
import { SignIn } from './sign-in.js';
import { messages } from './messages.js';

/** Why someone who was signed in signs in again: it ended, they put that off, or the mailbox must be proven. */
export type Again = 'ended' | 'later' | 'code';

interface Props {
  readonly holder: HolderLicensesAnswer;
  readonly why: Exclude<Again, 'later'>;
  readonly onSignedIn: () => Promise<void>;
  readonly onClose: () => void;
}

/** The page behind it stays as it is, with all that was typed there. */
export function SignInAgain({ holder, why, onSignedIn, onClose }: Props) {
  const byCode = why === 'code' || holder.signed_in_by === 'code';
  return (
    <Dialog title={why === 'ended' ? messages.session.ended : messages.data.signInByCode} onClose={onClose}>
      {why === 'ended' && <p>{messages.session.endedLead}</p>}
      <SignIn
        email={holder.email}
        byCode={byCode}
        codeOnly={why === 'code'}
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
