import { Button } from '../forms/button.js';
import { Notice } from './notice.js';

interface Props {
  readonly text: string;
  /** Whether the reason is that this device is offline, which the page has announced already. */
  readonly isOffline?: boolean;
  readonly retry: string;
  readonly busy?: boolean;
  readonly onRetry: () => void;
}

/** A notice that something could not be loaded, with a button to try again. */
export function Unavailable({ text, isOffline = false, retry, busy = false, onRetry }: Props) {
  return (
    <Notice kind={isOffline ? 'warning' : 'danger'}>
      <p>{text}</p>
      <Button busy={busy} onClick={onRetry}>
        {retry}
      </Button>
    </Notice>
  );
}
