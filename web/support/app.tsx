import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { toast } from '../shared/toast.js';
import { Unavailable } from '../shared/unavailable.js';
import { Loading } from '../shared/loading.js';
import { Page } from '../shared/page.js';
import { Workspace } from './frame/workspace.js';
import { problemText } from './parts/problem-text.js';
import { ViewTitle } from './parts/view-title.js';
import { Enrol } from './sign-in/enrol.js';
import { takeLink } from './sign-in/link.js';
import { SessionEnded } from './sign-in/session-ended.js';
import { SignIn } from './sign-in/sign-in.js';
import { useSession, type Known } from './sign-in/use-session.js';
import type { StaffSessionAnswer } from '../shared/api-types.js';
import { messages } from './messages.js';

/** The page: for who is signed in, and for who is not (yet). */
export function App({ link: brought }: { link: string | undefined }) {
  const known = useSession();
  const [link, setLink] = useState(brought);
  useEffect(() => {
    // One may be pasted into the address of the open page, too.
    const take = () => setLink((before) => takeLink() ?? before);
    addEventListener('hashchange', take);
    return () => removeEventListener('hashchange', take);
  }, []);
  const { session } = known;
  const read = async () => {
    await known.read();
    setLink(undefined);
  };
  if (link || session === null)
    return (
      <Frame>
        <SignIn link={link} onSignedIn={read} onDiscardLink={() => setLink(undefined)} />
      </Frame>
    );
  return session ? <SignedIn key={session.id} known={known} session={session} /> : <NotKnown known={known} />;
}

function SignedIn({ known, session }: { known: Known; session: StaffSessionAnswer }) {
  const [later, setLater] = useState(false);
  return (
    <>
      {session.has_passkey || later ? (
        <Workspace session={session} onSignedOut={known.leave} />
      ) : (
        <Frame>
          <Enrol
            session={session}
            onLater={() => setLater(true)}
            onEnrolled={() => {
              toast(messages.passkeys.made);
              known.enrolled();
            }}
          />
        </Frame>
      )}
      {known.ended > 0 && <SessionEnded key={known.ended} onSignedIn={known.read} onLeave={known.leave} />}
    </>
  );
}

function NotKnown({ known: { error, retry } }: { known: Known }) {
  return (
    <Frame>
      <ViewTitle focus={false}>{messages.support}</ViewTitle>
      {error === undefined ? (
        <Loading text={messages.waiting} />
      ) : (
        <Unavailable text={problemText(error)} retry={messages.retry} onRetry={retry} />
      )}
    </Frame>
  );
}

function Frame({ children }: { children: ComponentChildren }) {
  useEffect(() => void (document.title = messages.support), []);
  return <Page header={<strong class="brand">{messages.product}</strong>}>{children}</Page>;
}
