import { useEffect, useRef, useState } from 'preact/hooks';
import { toast } from '../../shared/toast.js';
import { isSignedOut } from '../../shared/api.js';
import { findSession, session as events } from '../call.js';
import type { StaffSessionAnswer } from '../../shared/api-types.js';
import { messages } from '../messages.js';

export interface Known {
  /** The signed-in person: undefined until it is known, null without a session. */
  readonly session: StaffSessionAnswer | null | undefined;
  /** Why it is not known. */
  readonly error: unknown;
  /** How often the session was found to have ended since it was last begun. */
  readonly ended: number;
  /** Reads who is signed in now. @throws Refused without a session, ServiceUnavailable if it is not known */
  readonly read: () => Promise<void>;
  /** The same, from the start. */
  readonly retry: () => void;
  readonly enrolled: () => void;
  readonly leave: () => void;
}

/** Who is signed in, as far as the page knows. */
export function useSession(): Known {
  const [session, setSession] = useState<StaffSessionAnswer | null>();
  const [error, setError] = useState<unknown>();
  // Counted, for a browser may close a dialog by itself: the next refusal opens another.
  const [ended, setEnded] = useState(0);
  const hasEnded = useRef(false);

  async function read() {
    const found = await findSession();
    setSession(found);
    goOn(found);
  }

  function goOn(found: StaffSessionAnswer) {
    const isResumed = hasEnded.current && session?.id === found.id;
    hasEnded.current = false;
    setEnded(0);
    if (!isResumed) return;
    events.dispatchEvent(new Event('resumed'));
    toast(messages.ended.resumed);
  }

  function retry() {
    setError(undefined);
    void read().catch((thrown: unknown) => (isSignedOut(thrown) ? setSession(null) : setError(thrown)));
  }

  function leave() {
    hasEnded.current = false;
    setSession(null);
    setEnded(0);
    toast(messages.signIn.signedOut);
  }

  useEffect(retry, []);
  useEffect(() => {
    const end = () => {
      hasEnded.current = true;
      setEnded((count) => count + 1);
    };
    events.addEventListener('ended', end);
    return () => events.removeEventListener('ended', end);
  }, []);

  const isSignedIn = Boolean(session);
  useEffect(() => {
    // All tabs share one session: someone else may have signed in in another, and what is done here is theirs now.
    const look = () =>
      void findSession().then(
        (found) => {
          // A person who signed out meanwhile stays signed out.
          setSession((known) => known && found);
          goOn(found);
        },
        () => undefined,
      );
    const comeBack = () => document.visibilityState === 'visible' && look();
    if (isSignedIn) {
      events.addEventListener('changed', look);
      addEventListener('focus', comeBack);
    }
    return () => {
      events.removeEventListener('changed', look);
      removeEventListener('focus', comeBack);
    };
  }, [isSignedIn, session?.id]);

  const enrolled = () => setSession((known) => known && { ...known, has_passkey: true });
  return { session, error, ended, read, retry, enrolled, leave };
}
