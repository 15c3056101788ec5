import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { isSignedOut, ServiceUnavailable } from '../shared/api/api.js';
import { useReconnection } from '../shared/api/connection.js';
import { usePageFocus } from '../shared/page/page-focus.js';
import { call, sessionEvents } from './call.js';

export interface Load<T> {
  readonly data: T | undefined;
  /** Why the last request failed; undefined if it did not. */
  readonly error: unknown;
  readonly busy: boolean;
  /** Loads the data again; the earlier data stays until the response. Never throws. */
  readonly reload: () => Promise<void>;
  /** Replaces the data by newer data, such as those in the answer to another request. */
  readonly set: (data: T) => void;
}

/**
 * Loads the data at a path of the staff API when a component is first rendered or has another path, when the person returns to the
 * page, after an action without an answer, and, after a failure, when the connection or the session is back.
 */
export function useLoad<T>(path: string): Load<T> {
  const [state, setState] = useState<{ path: string; data?: T; error?: unknown; busy: boolean }>({
    path,
    busy: true,
  });
  const latestRequest = useRef(0);
  // The error is also in a ref, because a session may be resumed before the state is rendered.
  const lastError = useRef<unknown>(undefined);
  const set = useCallback(
    (data: T) => {
      // The answers to earlier requests are older than this data, so they are ignored.
      latestRequest.current++;
      lastError.current = undefined;
      setState({ path, data, busy: false });
    },
    [path],
  );
  const reload = useCallback(async () => {
    const requestNumber = ++latestRequest.current;
    lastError.current = undefined;
    setState((before) => ({ ...(before.path === path ? before : { path }), busy: true }));
    try {
      const data = await call<T>('GET', path);
      // The answer to an earlier request is ignored.
      if (requestNumber === latestRequest.current) set(data);
    } catch (error) {
      if (requestNumber !== latestRequest.current) return;
      lastError.current = error;
      setState((before) => ({ ...before, error, busy: false }));
    }
  }, [path]);
  useEffect(() => {
    void reload();
    return () => void latestRequest.current++;
  }, [reload]);
  useEffect(() => {
    const reloadIfRefused = () => isSignedOut(lastError.current) && void reload();
    const reloadNow = () => void reload();
    sessionEvents.addEventListener('resumed', reloadIfRefused);
    sessionEvents.addEventListener('unanswered', reloadNow);
    return () => {
      sessionEvents.removeEventListener('resumed', reloadIfRefused);
      sessionEvents.removeEventListener('unanswered', reloadNow);
    };
  }, [reload]);
  useReconnection(() => void (lastError.current instanceof ServiceUnavailable && reload()));
  // After the end of the session, the event `resumed` loads the data again.
  usePageFocus(() => void (!isSignedOut(lastError.current) && reload()));
  // The data of an earlier path is not shown, not even for one render.
  const shown = state.path === path ? state : { busy: true };
  return { data: undefined, error: undefined, ...shown, reload, set };
}
