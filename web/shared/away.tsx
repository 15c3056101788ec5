import { Button } from './button.js';
import { Notice } from './notice.js';

interface Props {
  readonly text: string;
  readonly retry: string;
  readonly busy?: boolean;
  readonly onRetry: () => void;
}

/** The service cannot be reached; what was typed is still there. */
export function Away({ text, retry, busy = false, onRetry }: Props) {
  return (
    <Notice kind="danger">
      <p>{text}</p>
      <Button busy={busy} onClick={onRetry}>
        {retry}
      </Button>
    </Notice>
  );
}
