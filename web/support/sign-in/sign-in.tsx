import { useRef } from 'preact/hooks';
import { Button } from '../../shared/forms/button.js';
import { call } from '../call.js';
import { focusSoon } from '../../shared/notices/announcer.js';
import { useAction } from '../../shared/forms/action.js';
import { ViewTitle } from '../parts/view-title.js';
import { messages } from '../messages.js';
import { Failure } from './failure.js';
import { signInWithPasskey } from './passkey.js';

interface Props {
  /** The secret of a one-time link, from the page's URL. */
  readonly link: string | undefined;
  readonly onSignedIn: () => Promise<void>;
  readonly onDiscardLink: () => void;
}

/** The page to sign in. A link is used by a click, not by opening it, because mail scanners open links. */
export function SignIn({ link, onSignedIn, onDiscardLink }: Props) {
  const action = useAction();
  const { signIn } = messages;
  const signInBy = (method: () => Promise<unknown>) =>
    void action.run(async () => {
      await method();
      await onSignedIn();
    });
  const usedLink = useRef<string | undefined>(undefined);
  const sendLink = async () => {
    // The link works once. If only the session could not be read after it, the next click does not send the link again.
    if (usedLink.current !== link) await call('POST', 'session/link', { link });
    usedLink.current = link;
  };
  const discardLink = () => {
    onDiscardLink();
    focusSoon(document.body, '.sign-in .primary');
  };
  if (link)
    return (
      <div class="flow sign-in">
        <ViewTitle focus={false}>{signIn.linkTitle}</ViewTitle>
        <p class="lead">{signIn.linkLead}</p>
        <Failure error={action.error} texts={signIn} />
        <div class="actions">
          <Button kind="primary" busy={action.busy} onClick={() => signInBy(sendLink)}>
            {signIn.linkButton}
          </Button>
          <Button kind="link" onClick={discardLink}>
            {signIn.linkInstead}
          </Button>
        </div>
      </div>
    );
  return (
    <div class="flow sign-in">
      <ViewTitle focus={false}>{signIn.title}</ViewTitle>
      <p class="lead">{signIn.lead}</p>
      <Failure error={action.error} texts={signIn} />
      <div class="actions">
        <Button kind="primary" busy={action.busy} onClick={() => signInBy(signInWithPasskey)}>
          {action.busy ? signIn.busy : signIn.button}
        </Button>
      </div>
      <p class="quiet small">{signIn.noPasskey}</p>
    </div>
  );
}
