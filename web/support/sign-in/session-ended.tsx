import { useState } from 'preact/hooks';
import { isSignedOut } from '../../shared/api/api.js';
import { Button } from '../../shared/forms/button.js';
import { Dialog } from '../../shared/dialogs/dialog.js';
import { useAction } from '../../shared/forms/action.js';
import { messages } from '../messages.js';
import { Failure } from './failure.js';
import { signInWithPasskey } from './passkey.js';

interface Props {
  /** Reads who is signed in now. @throws ApiError if the session has ended */
  readonly onSignedIn: () => Promise<void>;
  readonly onLeave: () => void;
}

/** A dialog to sign in again. The page behind it stays as it was, so that the person can continue afterwards. */
export function SessionEnded({ onSignedIn, onLeave }: Props) {
  const action = useAction();
  const [isStillSignedOut, setIsStillSignedOut] = useState(false);
  const { ended, signIn } = messages;
  /** @param signInFirst left out if the person has signed in in another tab */
  const resume = (signInFirst?: () => Promise<void>) =>
    void action.run(async () => {
      setIsStillSignedOut(false);
      await signInFirst?.();
      await onSignedIn().catch((error: unknown) => {
        if (!isSignedOut(error)) throw error;
        setIsStillSignedOut(true);
      });
    });
  return (
    // Escape is ignored.
    <Dialog title={ended.title} onClose={() => undefined}>
      <p>{ended.text}</p>
      <Failure error={action.error} texts={signIn} />
      {isStillSignedOut && <p role="alert">{ended.notYet}</p>}
      <div class="actions">
        <Button kind="primary" busy={action.busy} onClick={() => resume(signInWithPasskey)}>
          {signIn.button}
        </Button>
        <Button kind="link" isBlocked={action.busy} onClick={() => resume()}>
          {ended.elsewhere}
        </Button>
        <Button kind="link" isBlocked={action.busy} onClick={onLeave}>
          {ended.leave}
        </Button>
      </div>
    </Dialog>
  );
}
