import type { ComponentChildren } from 'preact';
import { isSignedOut, Refused } from '../../shared/api.js';
import { Unavailable } from '../../shared/unavailable.js';
import { Loading } from '../../shared/loading.js';
import { Notice } from '../../shared/notice.js';
import type { Load } from '../use-load.js';
import { messages } from '../messages.js';
import { problemText } from './problem-text.js';

interface Props<T> {
  readonly load: Load<T>;
  readonly waiting: string;
  readonly notFound?: string;
  readonly children: (data: T) => ComponentChildren;
}

/** What was loaded, or in its place why there is nothing yet. */
export function Loaded<T>({ load, waiting, notFound, children }: Props<T>) {
  const { data, error, busy, reload } = load;
  return (
    <>
      {error !== undefined && !isSignedOut(error) && (
        <Why error={error} busy={busy} notFound={notFound} onRetry={() => void reload()} />
      )}
      {data === undefined ? error === undefined && <Loading text={waiting} /> : children(data)}
    </>
  );
}

interface WhyProps {
  readonly error: unknown;
  readonly busy: boolean;
  readonly notFound: string | undefined;
  readonly onRetry: () => void;
}

function Why({ error, busy, notFound, onRetry }: WhyProps) {
  if (notFound && error instanceof Refused && error.status === 404)
    return <Notice kind="warning">{notFound}</Notice>;
  return <Unavailable text={problemText(error)} retry={messages.retry} busy={busy} onRetry={onRetry} />;
}
