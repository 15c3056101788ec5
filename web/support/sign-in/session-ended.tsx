import { useState } from 'preact/hooks';
import { isSignedOut } from '../../shared/api.js';
import { Button } from '../../shared/button.js';
import { Dialog } from '../../shared/dialog.js';
import { useAction } from '../../shared/action.js';
import { messages } from '../messages.js';
import { Failure } from './failure.js';
import { signInWithPasskey } from './passkey.js';

interface Props {
  /** Reads who is signed in now. @throws Refused if the session has ended */
  readonly onSignedIn: () => Promise<void>;
  readonly onLeave: () => void;
}

/** Over whatever the person was doing, which stays as it was and goes on after this. */
export function SessionEnded({ onSignedIn, onLeave }: Props) {
  const action = useAction();
  const [notYet, setNotYet] = useState(false);
  const { ended, signIn } = messages;
  const enter = (way?: () => Promise<void>) =>
    void action.run(async () => {
      setNotYet(false);
      await way?.();
      await onSignedIn().catch((error: unknown) => {
        if (!isSignedOut(error)) throw error;
        setNotYet(true);
      });
    });
  return (
    <Dialog title={ended.title} onClose={() => undefined}>
      <p>{ended.text}</p>
      <Failure error={action.error} texts={signIn} />
      {notYet && <p role="alert">{ended.notYet}</p>}
      <div class="actions">
        <Button kind="primary" busy={action.busy} onClick={() => enter(signInWithPasskey)}>
          {signIn.button}
        </Button>
        <Button kind="link" onClick={() => enter()}>
          {ended.elsewhere}
        </Button>
        <Button kind="link" onClick={onLeave}>
          {ended.leave}
        </Button>
      </div>
    </Dialog>
  );
}
