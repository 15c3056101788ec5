import type { ComponentChildren } from 'preact';
import { isOffline, isSignedOut, ApiError } from '../../shared/api/api.js';
import { moveFocus } from '../../shared/notices/announcer.js';
import { Unavailable } from '../../shared/notices/unavailable.js';
import { Loading } from '../../shared/notices/loading.js';
import { Notice } from '../../shared/notices/notice.js';
import type { Load } from '../use-load.js';
import { messages } from '../messages.js';
import { problemText } from './problem-text.js';

interface Props<T> {
  readonly load: Load<T>;
  readonly loadingText: string;
  readonly notFoundText?: string;
  readonly children: (data: T) => ComponentChildren;
}

/**
 * Shows the loaded data, or a message while there is none. After a failed reload it shows the earlier data and the
 * error. No error is shown if the session has ended, because a dialog opens, or if there is data and the device is offline,
 * because the page says so.
 */
export function Loaded<T>({ load, loadingText, notFoundText, children }: Props<T>) {
  const { data, error, busy, reload } = load;
  const retry = async () => {
    const heading =
      document.activeElement?.closest('section')?.querySelector('h2') ?? document.querySelector('h1');
    await reload();
    // After a success the button that had the focus is gone.
    requestAnimationFrame(() => document.activeElement === document.body && moveFocus(heading));
  };
  return (
    <>
      {error !== undefined && !isSignedOut(error) && !(data && isOffline(error)) && (
        <LoadError error={error} busy={busy} notFoundText={notFoundText} onRetry={() => void retry()} />
      )}
      {data === undefined && error === undefined && <Loading text={loadingText} />}
      {data !== undefined && children(data)}
    </>
  );
}

interface LoadErrorProps {
  readonly error: unknown;
  readonly busy: boolean;
  readonly notFoundText?: string | undefined;
  readonly onRetry: () => void;
}

/** Says why something could not be loaded. A button tries again, unless it was not found. */
export function LoadError({ error, busy, notFoundText, onRetry }: LoadErrorProps) {
  if (notFoundText && error instanceof ApiError && error.status === 404)
    return <Notice kind="warning">{notFoundText}</Notice>;
  return (
    <Unavailable
      text={problemText(error)}
      isOffline={isOffline(error)}
      retry={messages.retry}
      busy={busy}
      onRetry={onRetry}
    />
  );
}
