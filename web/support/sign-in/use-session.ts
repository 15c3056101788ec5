import { useEffect, useRef, useState } from 'preact/hooks';
import { removeErrors, toast } from '../../shared/notices/toast.js';
import { isSignedOut } from '../../shared/api/api.js';
import { usePageFocus } from '../../shared/page/page-focus.js';
import { findSession, forgetSession, sessionEvents } from '../call.js';
import type { StaffSessionAnswer } from '../../../src/http/responses/api-types.js';
import { messages } from '../messages.js';
import { showChange } from '../parts/show-change.js';

export interface SessionState {
  /**
   * The signed-in person: undefined until it is known, null if no person is signed in. After the end of a session this stays
   * the person who was signed in, so that the page stays as it was.
   */
  readonly session: StaffSessionAnswer | null | undefined;
  /** Why the session could not be read. */
  readonly error: unknown;
  /** Whether a request was refused because the session has ended. */
  readonly isEnded: boolean;
  /** Reads who is signed in now. @throws ApiError without a session, ServiceUnavailable if it is not known */
  readonly read: () => Promise<void>;
  /** Reads the session again, and stores the result or the error here. */
  readonly retry: () => void;
  /** Notes that the signed-in person has a passkey now. */
  readonly markEnrolled: () => void;
  /**
   * Removes the session and its errors from this page after a sign-out, or after its end if the person leaves, and shows
   * "Signed out".
   */
  readonly clear: () => void;
}

/** Reads the session, and follows its changes in this tab and in others. */
export function useSession(): SessionState {
  const [session, setSession] = useState<StaffSessionAnswer | null>();
  const [error, setError] = useState<unknown>();
  const [isEnded, setIsEnded] = useState(false);
  // The same in a ref, because a session may be resumed before the state is rendered.
  const hasEnded = useRef(false);

  async function read() {
    const found = await findSession();
    // An error that arrived after the sign-out stays on the sign-in page. The next person must not see it.
    if (found.id !== session?.id) removeErrors();
    setSession(found);
    continueWith(found);
  }

  function continueWith(found: StaffSessionAnswer) {
    const isResumed = hasEnded.current && session?.id === found.id;
    hasEnded.current = false;
    setIsEnded(false);
    if (!isResumed) return;
    sessionEvents.dispatchEvent(new Event('resumed'));
    toast(messages.ended.resumed);
  }

  function retry() {
    setError(undefined);
    void read().catch((thrown: unknown) => (isSignedOut(thrown) ? setSession(null) : setError(thrown)));
  }

  function clear() {
    hasEnded.current = false;
    forgetSession();
    removeErrors();
    setSession(null);
    setIsEnded(false);
    showChange(messages.signIn.signedOut, '');
  }

  useEffect(retry, []);
  useEffect(() => {
    const noteEnd = () => {
      hasEnded.current = true;
      setIsEnded(true);
    };
    sessionEvents.addEventListener('ended', noteEnd);
    return () => sessionEvents.removeEventListener('ended', noteEnd);
  }, []);

  // All tabs share one session. If another person has signed in in another tab, this tab acts for that person too.
  function refresh() {
    if (!session) return;
    void findSession().then(
      (found) => {
        // A person who signed out meanwhile stays signed out.
        setSession((known) => known && found);
        continueWith(found);
      },
      () => undefined,
    );
  }
  usePageFocus(refresh);
  useEffect(() => {
    sessionEvents.addEventListener('changed', refresh);
    return () => sessionEvents.removeEventListener('changed', refresh);
  }, [session?.id]);

  const markEnrolled = () => setSession((known) => known && { ...known, has_passkey: true });
  return { session, error, isEnded, read, retry, markEnrolled, clear };
}
