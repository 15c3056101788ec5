import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { BrandFooter, BrandMark, setTitle } from '../../shared/page/brand.js';
import { toast } from '../../shared/notices/toast.js';
import { Loading } from '../../shared/notices/loading.js';
import { Page } from '../../shared/page/page.js';
import { useReconnection } from '../../shared/api/connection.js';
import { Workspace } from './workspace.js';
import { LoadError } from '../parts/loaded.js';
import { ViewTitle } from '../parts/view-title.js';
import { Enrol } from '../sign-in/enrol.js';
import { takeLink } from '../sign-in/link.js';
import { SessionEnded } from '../sign-in/session-ended.js';
import { SignIn } from '../sign-in/sign-in.js';
import { useSession, type SessionState } from '../sign-in/use-session.js';
import type { StaffSessionAnswer } from '../../../src/http/responses/api-types.js';
import { messages } from '../messages.js';

/** The page: the workspace of a signed-in person, or the sign-in. */
export function App({ link: initialLink }: { link: string | undefined }) {
  const state = useSession();
  const [link, setLink] = useState(initialLink);
  useEffect(() => {
    // A link may also be pasted into the URL of the open page.
    const readLink = () => setLink((before) => takeLink() ?? before);
    addEventListener('hashchange', readLink);
    return () => removeEventListener('hashchange', readLink);
  }, []);
  const { session } = state;
  const handleSignedIn = async () => {
    await state.read();
    setLink(undefined);
  };
  if (link || session === null)
    return (
      <Frame>
        <SignIn link={link} onSignedIn={handleSignedIn} onDiscardLink={() => setLink(undefined)} />
      </Frame>
    );
  return session ? (
    <SignedIn key={session.id} state={state} session={session} />
  ) : (
    <UnknownSession state={state} />
  );
}

function SignedIn({ state, session }: { state: SessionState; session: StaffSessionAnswer }) {
  const [isPostponed, setIsPostponed] = useState(false);
  // Once it is shown, the workspace stays. Otherwise what a person types there would be lost when they remove their last passkey.
  const isOpen = useRef(false);
  isOpen.current ||= session.has_passkey || isPostponed;
  return (
    <>
      {isOpen.current ? (
        <Workspace session={session} onSignedOut={state.clear} />
      ) : (
        <Frame>
          <Enrol
            session={session}
            onLater={() => setIsPostponed(true)}
            onEnrolled={() => {
              toast(messages.passkeys.made);
              state.markEnrolled();
            }}
          />
        </Frame>
      )}
      {state.isEnded && <SessionEnded onSignedIn={state.read} onLeave={state.clear} />}
    </>
  );
}

/** The page while the session is read, or cannot be read. */
function UnknownSession({ state: { error, retry } }: { state: SessionState }) {
  useReconnection(() => void (error !== undefined && retry()));
  return (
    <Frame>
      <ViewTitle focus={false}>{messages.support}</ViewTitle>
      {error === undefined ? (
        <Loading text={messages.waiting} />
      ) : (
        <LoadError error={error} busy={false} onRetry={retry} />
      )}
    </Frame>
  );
}

function Frame({ children }: { children: ComponentChildren }) {
  useEffect(() => setTitle(messages.support), []);
  return (
    <Page header={<BrandMark page={messages.support} />} footer={<BrandFooter />}>
      {children}
    </Page>
  );
}
