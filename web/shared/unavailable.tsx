import { Button } from './button.js';
import { Notice } from './notice.js';

interface Props {
  readonly text: string;
  readonly retry: string;
  readonly busy?: boolean;
  readonly onRetry: () => void;
}

/** A notice that something could not be loaded, with a button to try again. */
export function Unavailable({ text, retry, busy = false, onRetry }: Props) {
  return (
    <Notice kind="danger">
      <p>{text}</p>
      <Button busy={busy} onClick={onRetry}>
        {retry}
      </Button>
    </Notice>
  );
}
