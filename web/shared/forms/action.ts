import { useRef, useState } from 'preact/hooks';
import { isOffline } from '../api/api.js';
import { useReconnection } from '../api/connection.js';

/** The state of an action that a person starts, such as the request that a button sends. */
interface Action<Failure> {
  readonly busy: boolean;
  /**
   * Why the last run failed; undefined during a run and after a success. If the device was offline, the error is removed once the
   * device has a connection again. It is not shown in another language than that of the page.
   */
  readonly error: Failure | undefined;
  /** Runs the work, unless earlier work is still running. @returns whether the work succeeded */
  readonly run: (work: () => Promise<unknown>) => Promise<boolean>;
  /** Removes the error. */
  readonly clear: () => void;
}

/** @param explain turns a thrown value into `error`, such as a message; without it, `error` is the thrown value */
export function useAction<Failure = unknown>(
  explain = (thrown: unknown) => thrown as Failure,
): Action<Failure> {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<{
    readonly thrown: unknown;
    readonly error: Failure;
    readonly language: string;
  }>();
  const isRunning = useRef(false);
  async function run(work: () => Promise<unknown>): Promise<boolean> {
    if (isRunning.current) return false;
    isRunning.current = true;
    setBusy(true);
    setFailure(undefined);
    try {
      await work();
      return true;
    } catch (thrown) {
      setFailure({ thrown, error: explain(thrown), language: document.documentElement.lang });
      return false;
    } finally {
      isRunning.current = false;
      setBusy(false);
    }
  }
  useReconnection(() => setFailure((last) => (isOffline(last?.thrown) ? undefined : last)));
  const error = failure?.language === document.documentElement.lang ? failure.error : undefined;
  return { busy, error, run, clear: () => setFailure(undefined) };
}
