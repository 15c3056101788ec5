import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { isSignedOut } from '../shared/api.js';
import { call, session } from './call.js';

export interface Load<T> {
  readonly data: T | undefined;
  /** Why there is no data, or none newer. */
  readonly error: unknown;
  readonly busy: boolean;
  /** Asks again; what is shown stays until the answer is there. Never throws. */
  readonly reload: () => Promise<void>;
  /** Shows data that another answer contained. */
  readonly set: (data: T) => void;
}

/** What the API has at an address, from the moment a view is shown. */
export function useLoad<T>(path: string): Load<T> {
  const [state, setState] = useState<{ path: string; data?: T; error?: unknown; busy: boolean }>({
    path,
    busy: true,
  });
  const latest = useRef(0);
  // At hand before it is drawn: the session may be found again in between.
  const refusal = useRef<unknown>(undefined);
  const set = useCallback(
    (data: T) => {
      // What is on its way was asked for before this was so.
      latest.current++;
      refusal.current = undefined;
      setState({ path, data, busy: false });
    },
    [path],
  );
  const reload = useCallback(async () => {
    const mine = ++latest.current;
    refusal.current = undefined;
    setState((before) => ({ ...(before.path === path ? before : { path }), busy: true }));
    try {
      const data = await call<T>('GET', path);
      // An answer that comes late says nothing new.
      if (mine === latest.current) set(data);
    } catch (error) {
      if (mine !== latest.current) return;
      refusal.current = error;
      setState((before) => ({ ...before, error, busy: false }));
    }
  }, [path]);
  useEffect(() => {
    void reload();
    return () => void latest.current++;
  }, [reload]);
  useEffect(() => {
    const again = () => isSignedOut(refusal.current) && void reload();
    session.addEventListener('resumed', again);
    return () => session.removeEventListener('resumed', again);
  }, [reload]);
  useEffect(() => {
    // Another tab or another person may have changed the data meanwhile.
    // After the end of the session, `resumed` loads it again.
    const comeBack = () =>
      document.visibilityState === 'visible' && !isSignedOut(refusal.current) && void reload();
    addEventListener('focus', comeBack);
    return () => removeEventListener('focus', comeBack);
  }, [reload]);
  // Of another address nothing is shown, not even for a moment.
  const shown = state.path === path ? state : { busy: true };
  return { data: undefined, error: undefined, ...shown, reload, set };
}
