import { Notice } from '../../shared/notice.js';
import { problemText } from '../parts/problem-text.js';
import { PasskeyFailed } from './passkey.js';

interface Props {
  readonly error: unknown;
  readonly texts: Readonly<Partial<Record<PasskeyFailed['why'], string>>> & { readonly failed: string };
}

/** What came between a person and a passkey. To change one's mind is no fault. */
export function Failure({ error, texts }: Props) {
  if (error === undefined) return null;
  if (!(error instanceof PasskeyFailed)) return <Notice kind="danger">{problemText(error)}</Notice>;
  const text = texts[error.why] ?? texts.failed;
  return (
    <Notice kind={error.why === 'cancelled' ? 'warning' : 'danger'}>
      <p role="alert">{text}</p>
    </Notice>
  );
}
